#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/api_codec.h"
#include "api/api_info.h"
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
  enum class Presence { always, added, optional };

 public:
  ApiType(std::string name, std::string meaning) {
    info_.name = std::move(name);
    info_.meaning = std::move(meaning);
  }

  /// Always there. `Codec`: how the member is written, where its type alone does not say.
  template <typename Codec = void, typename Member>
  ApiType&& field(std::string name, Member T::* member, std::string meaning) && {
    return std::move(*this).template add<Codec, Presence::always>(std::move(name), member, std::move(meaning));
  }
  /// Always written; whoever wrote before it existed has left it out.
  template <typename Codec = void, typename Member>
  ApiType&& added(std::string name, Member T::* member, std::string meaning) && {
    return std::move(*this).template add<Codec, Presence::added>(std::move(name), member, std::move(meaning));
  }
  /// Left out where it is as in a new `T`; then it stays so when read.
  template <typename Codec = void, typename Member>
  ApiType&& optional(std::string name, Member T::* member, std::string meaning) && {
    return std::move(*this).template add<Codec, Presence::optional>(std::move(name), member, std::move(meaning));
  }
  /// The fields of a member stand among these.
  template <typename Member>
  ApiType&& all_of(Member T::* member) &&;
  /// What somebody else writes and reads by hand: the rows so far describe it, and a test must hold them against it.
  ApiType&& by_hand(std::function<json::object(const T&)> write, std::function<Result<T>(const json::value&)> read) &&;
  /// For rows of what is written by hand.
  template <typename Value, typename Codec = ApiCodec<Value>>
  ApiType&& row(std::string name, std::string meaning, bool always = true) && {
    info_.fields.push_back({std::move(name), std::move(meaning), Codec::shape(), always});
    return std::move(*this);
  }
  /// As a body it may have further keys: a record that newer programs may have written.
  ApiType&& open() && {
    info_.open = true;
    return std::move(*this);
  }

  const ApiTypeInfo& info() const { return info_; }
  json::object write(const T& value) const {
    json::object object;
    for (const auto& part : parts_) part.write(value, object);
    return object;
  }
  /// `bad_file` with the name of the type and the field.
  Result<T> read(const json::value& json) const;

 private:
  /// A field, or all those of a member.
  struct Part {
    std::function<void(const T&, json::object&)> write;
    std::function<Result<void>(const json::object&, T&)> read;
  };
  template <typename Codec, Presence presence, typename Member>
  ApiType&& add(std::string name, Member T::* member, std::string meaning) &&;

  ApiTypeInfo info_;
  std::vector<Part> parts_;
};

template <typename T>
json::object write_api(const T& value) {
  return api_type<T>().write(value);
}
template <typename T>
Result<T> read_api(const json::value& value) {
  return api_type<T>().read(value);
}

template <typename T>
template <typename Member>
ApiType<T>&& ApiType<T>::all_of(Member T::* member) && {
  const auto& type = api_type<Member>();
  info_.fields.insert(info_.fields.end(), type.info().fields.begin(), type.info().fields.end());
  parts_.push_back({.write =
                        [&type, member](const T& value, json::object& object) {
                          for (auto& [key, one] : type.write(value.*member)) object[key] = std::move(one);
                        },
                    .read = [&type, member](const json::object& object, T& into) -> Result<void> {
                      ASSAY_TRY(into.*member, type.read(object));
                      return {};
                    }});
  return std::move(*this);
}

template <typename T>
ApiType<T>&& ApiType<T>::by_hand(std::function<json::object(const T&)> write,
                                 std::function<Result<T>(const json::value&)> read) && {
  parts_.push_back({.write =
                        [write = std::move(write)](const T& value, json::object& object) {
                          for (auto& [key, one] : write(value)) object[key] = std::move(one);
                        },
                    .read = [read = std::move(read)](const json::object& object, T& into) -> Result<void> {
                      ASSAY_TRY(into, read(object));
                      return {};
                    }});
  return std::move(*this);
}

template <typename T>
template <typename Codec, typename ApiType<T>::Presence presence, typename Member>
ApiType<T>&& ApiType<T>::add(std::string name, Member T::* member, std::string meaning) && {
  constexpr bool leaves_out = presence == Presence::optional;
  using Used = std::conditional_t<std::is_void_v<Codec>, ApiCodec<Member>, Codec>;
  auto shape = Used::shape();
  // What is left out where it is missing is never null.
  if constexpr (leaves_out && is_optional_member<Member> && std::is_void_v<Codec>) {
    shape = ApiCodec<typename Member::value_type>::shape();
  }
  info_.fields.push_back({name, std::move(meaning), std::move(shape), !leaves_out});
  parts_.push_back({.write =
                        [name, member](const T& value, json::object& object) {
                          if constexpr (leaves_out) {
                            static const T fresh{};
                            if (is_as_new(value.*member, fresh.*member)) return;
                          }
                          object[name] = Used::write(value.*member);
                        },
                    .read = [name, member](const json::object& object, T& into) -> Result<void> {
                      const auto* json = object.if_contains(name);
                      if (!json && presence != Presence::always) return {};
                      const std::string rule = json ? Used::read(*json, into.*member) : "is missing";
                      if (rule.empty()) return {};
                      return Error{.kind = ErrorKind::bad_file, .message = "'" + name + "' " + rule};
                    }});
  return std::move(*this);
}

template <typename T>
Result<T> ApiType<T>::read(const json::value& json) const {
  const auto* object = json.if_object();
  if (!object) return Error{.kind = ErrorKind::bad_file, .message = info_.name + ": expected a JSON object"};
  T value{};
  for (const auto& part : parts_) {
    auto read = part.read(*object, value);
    if (read) continue;
    Error error = std::move(read).error();
    if (error.message.starts_with("'")) error.message = info_.name + ": " + error.message;
    return error;
  }
  return value;
}

}  // namespace assay
