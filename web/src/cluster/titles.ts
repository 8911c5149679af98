/** What people call the metrics that they look at most; all others go by their name. */
export const kTitles: Record<string, string> = {
  "gpu.util": "GPU utilisation",
  "gpu.memory_used_bytes": "GPU memory",
  "gpu.temperature_c": "GPU temperature",
  "gpu.power_w": "GPU power",
  "gpu.sm_clock_mhz": "GPU clock",
  "gpu.throttle": "GPU throttling",
  "gpu.tensor_active": "Tensor cores",
  "gpu.pcie_receive_bytes_per_second": "PCIe in",
  "gpu.nvlink_receive_bytes_per_second": "NVLink in",
  "host.cpu_util": "CPU",
  "host.memory_used_bytes": "Memory",
  "host.net_receive_bytes_per_second": "Network in",
  "host.net_transmit_bytes_per_second": "Network out",
  "host.disk_read_bytes_per_second": "Disk read",
  "host.disk_write_bytes_per_second": "Disk write",
};

export function titleOf(metric: string): string {
  return kTitles[metric] ?? metric;
}
