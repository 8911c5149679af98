#pragma once

#include "store/cluster/connections.h"
#include "store/notice_table.h"
#include "store/refusal_table.h"

namespace assay {

class RefusalRows final : public RefusalTable {
 public:
  explicit RefusalRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<RefusalRecord>> list() override;
  Result<void> put(std::span<const RefusalRecord> refusals) override;
  Result<void> remove(std::string_view node) override;

 private:
  ClusterConnections& connections_;
};

class NoticeRows final : public NoticeTable {
 public:
  explicit NoticeRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<NoticeRecord>> list() override;
  Result<void> add(std::span<NoticeRecord> notices) override;
  Result<void> remove(std::int64_t id) override;

 private:
  ClusterConnections& connections_;
};

}  // namespace assay
