#pragma once

#include <sys/time.h>

#include "base/result.h"

/// The few functions of libldap (OpenLDAP 2.5 and later) that are called. It is loaded when it is needed: it cannot be
/// linked statically, and most leaders ask no directory. What is declared here is the library's stable interface.
namespace assay::ldap {

struct Handle;   ///< a connection: LDAP
struct Message;  ///< an answer, or an entry in it: LDAPMessage

/// struct berval: bytes with their number.
struct Bytes {
  unsigned long size;
  char* data;
};

enum Code : int {
  kSuccess = 0x00,
  kSizeLimitExceeded = 0x04,
  kConstraintViolation = 0x13,
  kNoSuchObject = 0x20,
  kInvalidDnSyntax = 0x22,
  kInappropriateAuthentication = 0x30,
  kInvalidCredentials = 0x31,
  kInsufficientAccess = 0x32,
  kUnwillingToPerform = 0x35,
  kServerDown = -1,
  kConnectError = -11,
};

enum Option : int {
  kDereference = 0x0002,
  kReferrals = 0x0008,
  kRestart = 0x0009,
  kProtocolVersion = 0x0011,
  kDiagnosticMessage = 0x0032,
  kTimeoutOption = 0x5002,
  kNetworkTimeout = 0x5005,
  kCaFile = 0x6002,
  kCaFolder = 0x6003,
  kRequireCertificate = 0x6006,
  kLeastTls = 0x6007,
  kNewTlsContext = 0x600f,
  kRequireAlternativeName = 0x601a,
};

inline constexpr int kTcp = 1;
inline constexpr int kVersion3 = 3;
inline constexpr int kNeverDereference = 0;
inline constexpr int kDemand = 2;        ///< of a certificate: no connection without a good one
inline constexpr int kWherePresent = 4;  ///< of alternative names: where there are any, one must fit
inline constexpr int kTls12 = 0x303;
inline constexpr int kWholeSubtree = 2;

struct Library {
  int (*initialize)(Handle**, const char* url) = nullptr;
  int (*initialize_connected)(int socket, int protocol, const char* url, Handle**) = nullptr;
  int (*install_tls)(Handle*) = nullptr;
  int (*has_tls)(Handle*) = nullptr;
  int (*start_tls)(Handle*, void** server_controls, void** client_controls) = nullptr;
  int (*unbind)(Handle*, void** server_controls, void** client_controls) = nullptr;
  int (*set_option)(Handle*, int option, const void* value) = nullptr;
  int (*get_option)(Handle*, int option, void* value) = nullptr;
  int (*bind)(Handle*, const char* dn, const char* mechanism, const Bytes* password, void** server_controls,
              void** client_controls, Bytes** answer) = nullptr;
  int (*search)(Handle*, const char* base, int scope, const char* filter, char** attributes, int names_alone,
                void** server_controls, void** client_controls, timeval* timeout, int most, Message** answer) = nullptr;
  Message* (*first_entry)(Handle*, Message*) = nullptr;
  Message* (*next_entry)(Handle*, Message*) = nullptr;
  char* (*dn)(Handle*, Message* entry) = nullptr;
  Bytes** (*values)(Handle*, Message* entry, const char* attribute) = nullptr;
  void (*free_values)(Bytes**) = nullptr;
  int (*free_message)(Message*) = nullptr;
  void (*free_memory)(void*) = nullptr;
  char* (*describe)(int code) = nullptr;
};

/// Loads the library, which then stays for as long as the program runs. Any thread. `unsupported` where there is none.
Result<Library> load();

}  // namespace assay::ldap
