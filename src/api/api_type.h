#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/api_codec.h"
#include "api/api_info.h"
#include "api/api_parts.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

/// How a value travels: one row per field makes the JSON, reads it again and describes it, so that none of the three
/// can say something else than the others.
///
///   template <>
///   const ApiType<Artifact>& api_type() {
///     static const auto type = ApiType<Artifact>("Artifact", "A file that belongs to a run.")
///                                  .field("name", &Artifact::name, "What it is called")
///                                  .field("bytes", &Artifact::bytes, "How large it is");
///     return type;
///   }
///
/// Keys that nobody described are passed over when reading: a newer program may have written them. Built once, then
/// only read, by any number of threads.
template <typename T>
class ApiType {
 public:
  ApiType(std::string name, std::string meaning) {
    info_.name = std::move(name);
    info_.meaning = std::move(meaning);
  }

  /// Always there. `Codec`: how the member is written, where its type alone does not say.
  template <typename Codec = void, typename Member>
  ApiType&& field(const char* name, Member T::* member, const char* meaning) && {
    return std::move(*this).template add<Codec, ApiMember::Presence::always>(name, member, meaning);
  }
  /// Always written; whoever wrote before it existed has left it out.
  template <typename Codec = void, typename Member>
  ApiType&& added(const char* name, Member T::* member, const char* meaning) && {
    return std::move(*this).template add<Codec, ApiMember::Presence::added>(name, member, meaning);
  }
  /// Left out where it is as in a new `T`; then it stays so when read.
  template <typename Codec = void, typename Member>
  ApiType&& optional(const char* name, Member T::* member, const char* meaning) && {
    return std::move(*this).template add<Codec, ApiMember::Presence::optional>(name, member, meaning);
  }
  /// The fields of a member stand among these.
  template <typename Member>
  ApiType&& all_of(Member T::* member) &&;
  /// What somebody else writes and reads by hand: the rows so far describe it, and a test must hold them against it.
  ApiType&& by_hand(std::function<json::object(const T&)> write, std::function<Result<T>(const json::value&)> read) &&;
  /// For rows of what is written by hand.
  template <typename Value, typename Codec = ApiCodec<Value>>
  ApiType&& row(const char* name, const char* meaning, bool always = true) && {
    info_.add(name, meaning, Codec::shape(), always);
    return std::move(*this);
  }
  /// As a body it may have further keys: a record that newer programs may have written.
  ApiType&& open() && {
    info_.open = true;
    return std::move(*this);
  }

  const ApiTypeInfo& info() const { return info_; }
  json::object write(const T& value) const { return parts_.write(&value, &fresh()); }
  /// `bad_file` with the name of the type and the field.
  Result<T> read(const json::value& json) const;

 private:
  static const T& fresh() {
    static const T value{};
    return value;
  }
  template <typename Codec, ApiMember::Presence presence, typename Member>
  ApiType&& add(const char* name, Member T::* member, const char* meaning) &&;

  ApiTypeInfo info_;
  ApiParts parts_;
};

template <typename T>
json::object write_api(const T& value) {
  return api_type<T>().write(value);
}
template <typename T>
Result<T> read_api(const json::value& value) {
  return api_type<T>().read(value);
}

/// How members of one type travel with one codec, as functions that need not know the type.
template <typename Codec, typename Member>
struct ApiMemberCodec {
  static json::value write(const void* member) { return Codec::write(*static_cast<const Member*>(member)); }
  static std::string read(const json::value& json, void* member) {
    return Codec::read(json, *static_cast<Member*>(member));
  }
  static bool is_as_new(const void* member, const void* fresh) {
    return assay::is_as_new(*static_cast<const Member*>(member), *static_cast<const Member*>(fresh));
  }
};

template <typename T>
template <typename Member>
ApiType<T>&& ApiType<T>::all_of(Member T::* member) && {
  const auto& type = api_type<Member>();
  info_.fields.insert(info_.fields.end(), type.info().fields.begin(), type.info().fields.end());
  parts_.add(ApiWhole{.write =
                          [&type, member](const void* value, json::object& into) {
                            for (auto& [key, one] : type.write(static_cast<const T*>(value)->*member)) {
                              into[key] = std::move(one);
                            }
                          },
                      .read = [&type, member](const json::object& from, void* value) -> Result<void> {
                        ASSAY_TRY(static_cast<T*>(value)->*member, type.read(from));
                        return {};
                      }});
  return std::move(*this);
}

template <typename T>
ApiType<T>&& ApiType<T>::by_hand(std::function<json::object(const T&)> write,
                                 std::function<Result<T>(const json::value&)> read) && {
  parts_.add(ApiWhole{.write =
                          [write = std::move(write)](const void* value, json::object& into) {
                            for (auto& [key, one] : write(*static_cast<const T*>(value))) into[key] = std::move(one);
                          },
                      .read = [read = std::move(read)](const json::object& from, void* value) -> Result<void> {
                        ASSAY_TRY(*static_cast<T*>(value), read(from));
                        return {};
                      }});
  return std::move(*this);
}

template <typename T>
template <typename Codec, ApiMember::Presence presence, typename Member>
ApiType<T>&& ApiType<T>::add(const char* name, Member T::* member, const char* meaning) && {
  constexpr bool leaves_out = presence == ApiMember::Presence::optional;
  using Used = std::conditional_t<std::is_void_v<Codec>, ApiCodec<Member>, Codec>;
  using Functions = ApiMemberCodec<Used, Member>;
  auto shape = Used::shape();
  // What is left out where it is missing is never null.
  if constexpr (leaves_out && is_optional_member<Member> && std::is_void_v<Codec>) {
    shape = ApiCodec<typename Member::value_type>::shape();
  }
  info_.add(name, meaning, std::move(shape), !leaves_out);
  const auto* whole = reinterpret_cast<const std::byte*>(&fresh());
  const auto* part = reinterpret_cast<const std::byte*>(&(fresh().*member));
  bool (*as_new)(const void*, const void*) = nullptr;
  if constexpr (leaves_out) as_new = Functions::is_as_new;
  parts_.add(name, {.presence = presence,
                    .offset = part - whole,
                    .write = Functions::write,
                    .read = Functions::read,
                    .is_as_new = as_new});
  return std::move(*this);
}

template <typename T>
Result<T> ApiType<T>::read(const json::value& json) const {
  const auto* object = json.if_object();
  if (!object) return Error{.kind = ErrorKind::bad_file, .message = info_.name + ": expected a JSON object"};
  T value{};
  auto read = parts_.read(*object, &value);
  if (read) return value;
  Error error = std::move(read).error();
  if (error.message.starts_with("'")) error.message = info_.name + ": " + error.message;
  return error;
}

}  // namespace assay
