#include "chakra/chakra_file.hpp"

#include "base/compressed_file.hpp"
#include "chakra/execution_trace.pb.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <utility>

namespace mirfak {

namespace {

using chakra_wire::TraceAttribute;
using chakra_wire::TraceHeader;
using chakra_wire::TraceNode;

constexpr std::string_view kExpected =
    "expected a Chakra execution trace (messages after their lengths, or JSON with workload_graph), plain or "
    "compressed "
    "by gzip";

[[noreturn]] void fail_message(const std::string& file, std::size_t message, const std::string& what) {
  fail_input({file, 0, 0}, fmt::format("message {}: {}", message, what), std::string(kExpected));
}

// Reads a file piece by piece, as bytes and messages.
class MessageReader {
 public:
  explicit MessageReader(const std::filesystem::path& path)
      : name_(path.string()), file_(path, std::string(kExpected)), buffer_(std::size_t{1} << 18, '\0') {}

  // Reads the next message; false at the end of the file.
  bool next(std::string& message) {
    const std::optional<std::uint64_t> length = varint();
    if (!length) return false;
    constexpr std::uint64_t longest = std::uint64_t{1} << 28;
    if (*length > longest) {
      fail_message(name_, count_, fmt::format("{} bytes long, more than {} are not read", *length, longest));
    }
    message.clear();
    // The text grows as bytes arrive, so that a damaged length takes no memory.
    while (message.size() < *length) {
      if (!fill()) fail_message(name_, count_, fmt::format("the file ends within its {} bytes", *length));
      const std::size_t take = std::min<std::size_t>(end_ - begin_, *length - message.size());
      message.append(buffer_, begin_, take);
      begin_ += take;
    }
    ++count_;
    return true;
  }
  std::size_t count() const { return count_; }  // messages read
  std::string rest() {
    constexpr std::size_t most = std::size_t{1} << 30;
    std::string out;
    while (fill()) {
      out.append(buffer_, begin_, end_ - begin_);
      begin_ = end_;
      if (out.size() > most) fail_input({name_, 0, 0}, "more than 1 GiB of JSON is not read", "give the .et file");
    }
    return out;
  }

 private:
  bool fill() {
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = file_.read(buffer_.data(), buffer_.size());
    return end_ > 0;
  }
  std::optional<std::uint64_t> varint() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (!fill()) {
        if (shift == 0) return std::nullopt;
        fail_message(name_, count_, "the file ends within its length");
      }
      const auto byte = static_cast<unsigned char>(buffer_[begin_++]);
      out |= static_cast<std::uint64_t>(byte & 0x7FU) << static_cast<unsigned>(shift);
      if (byte < 0x80) return out;
    }
    fail_message(name_, count_, "its length is no number");
  }

  std::string name_;
  CompressedFile file_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t count_ = 0;
};

// Returns the value of an attribute of any numeric type.
std::optional<double> number_of(const TraceAttribute& attribute) {
  switch (attribute.value_case()) {
    case TraceAttribute::kDoubleValue:
      return attribute.double_value();
    case TraceAttribute::kFloatValue:
      return attribute.float_value();
    case TraceAttribute::kInt32Value:
      return attribute.int32_value();
    case TraceAttribute::kInt64Value:
      return static_cast<double>(attribute.int64_value());
    case TraceAttribute::kUint32Value:
      return attribute.uint32_value();
    case TraceAttribute::kUint64Value:
      return static_cast<double>(attribute.uint64_value());
    case TraceAttribute::kSint32Value:
      return attribute.sint32_value();
    case TraceAttribute::kSint64Value:
      return static_cast<double>(attribute.sint64_value());
    case TraceAttribute::kFixed32Value:
      return attribute.fixed32_value();
    case TraceAttribute::kFixed64Value:
      return static_cast<double>(attribute.fixed64_value());
    case TraceAttribute::kSfixed32Value:
      return attribute.sfixed32_value();
    case TraceAttribute::kSfixed64Value:
      return static_cast<double>(attribute.sfixed64_value());
    case TraceAttribute::kBoolValue:
      return attribute.bool_value() ? 1 : 0;
    default:
      return std::nullopt;
  }
}

// A fault in a node, thrown where the place of the node is not known; its catcher adds the place.
struct NodeFault {
  std::string what;
};

double at_least_0(std::string_view name, double value) {
  if (value >= 0 && value <= 1e30) return value;
  throw NodeFault{fmt::format("{} is {}", name, value)};
}

std::int64_t whole(std::string_view name, double value) {
  constexpr double most = 9e15;
  if (value >= -most && value <= most) return static_cast<std::int64_t>(value);
  throw NodeFault{fmt::format("{} is {}", name, value)};
}

ChakraNodeKind node_kind(std::int64_t number) {
  if (number < 0 || number > static_cast<int>(ChakraNodeKind::collective)) {
    throw NodeFault{fmt::format("its type is {}: the schema has 0 to 7", number)};
  }
  return static_cast<ChakraNodeKind>(number);
}

// Files use this attribute for the type of a node of sends and receives, too.
void take_collective(ChakraNode& node, double number) {
  const std::int64_t kind = whole("comm_type", number);
  if (node.kind != ChakraNodeKind::collective) return;
  if (kind < 0 || kind >= kChakraCollectives) throw NodeFault{fmt::format("its comm_type is {}", kind)};
  node.collective = static_cast<ChakraCollective>(kind);
}

void take_number(ChakraNode& node, std::string_view name, double value) {
  if (name == "is_cpu_op") node.on_host = value != 0;
  if (name == "num_ops") node.operations = at_least_0(name, value);
  if (name == "tensor_size") node.tensor_bytes = at_least_0(name, value);
  if (name == "comm_size") node.bytes = at_least_0(name, value);
  if (name == "comm_type") take_collective(node, value);
  if (name == "comm_tag") node.tag = whole(name, value);
  if (name == "comm_dst" && node.kind == ChakraNodeKind::send) node.peer = whole(name, value);
  if (name == "comm_src" && node.kind == ChakraNodeKind::receive) node.peer = whole(name, value);
  if (name == "rendezvous") node.rendezvous = value != 0;
  if (name == "microbatch") node.microbatch = static_cast<std::int32_t>(std::clamp(value, -1.0, 1e9));
}

void take_attribute(ChakraNode& node, const TraceAttribute& attribute) {
  const std::string& name = attribute.name();
  if (attribute.value_case() == TraceAttribute::kStringValue) {
    if (name == "pg_name") node.group = attribute.string_value();
    if (name == "stream") node.stream = attribute.string_value();
    return;
  }
  if (name == "duration_ps" && attribute.value_case() == TraceAttribute::kUint64Value) {
    node.duration_ps = attribute.uint64_value();  // a double would round it
    return;
  }
  if (const std::optional<double> value = number_of(attribute)) take_number(node, name, *value);
}

ChakraNode node_of(const TraceNode& wire) {
  ChakraNode out;
  out.id = wire.id();
  out.name = wire.name();
  out.kind = node_kind(wire.type());
  out.control_dependencies.assign(wire.control_dependencies().begin(), wire.control_dependencies().end());
  out.data_dependencies.assign(wire.data_dependencies().begin(), wire.data_dependencies().end());
  out.start_us = wire.start_us();
  // The format does not distinguish 0 from absent. For compute nodes 0 is a duration; for communication it means "not
  // measured".
  if (wire.duration_us() > 0 || out.kind == ChakraNodeKind::compute) out.duration_us = wire.duration_us();
  for (const TraceAttribute& attribute : wire.attributes()) take_attribute(out, attribute);
  return out;
}

// Parses the sizes of groups, which the header holds as JSON: {"name": size}.
std::vector<ChakraGroup> groups_of(const std::string& text, const std::string& file) {
  std::vector<ChakraGroup> out;
  const nlohmann::json groups = nlohmann::json::parse(text, nullptr, false);
  if (!groups.is_object()) fail_message(file, 0, "its group_sizes are no JSON mapping of names to numbers");
  for (const auto& [name, size] : groups.items()) {
    if (!size.is_number_integer()) fail_message(file, 0, fmt::format("the size of group '{}' is no number", name));
    out.push_back({name, size.get<std::int64_t>()});
  }
  return out;
}

void take_header(ChakraTrace& trace, const TraceHeader& header) {
  trace.version = header.version();
  for (const TraceAttribute& attribute : header.attributes()) {
    if (attribute.name() == "schema" && trace.version.empty()) trace.version = attribute.string_value();
    if (attribute.name() == "rank") {
      if (const std::optional<double> rank = number_of(attribute)) trace.rank = static_cast<std::int64_t>(*rank);
    }
    if (attribute.name() == "group_sizes") trace.groups = groups_of(attribute.string_value(), trace.file);
  }
}

void read_messages(MessageReader& reader, ChakraTrace& trace) {
  std::string message;
  if (!reader.next(message)) fail_input({trace.file, 0, 0}, "the file is empty", std::string(kExpected));
  TraceHeader header;
  if (!header.ParseFromString(message)) fail_message(trace.file, 0, "it is no header of a trace");
  take_header(trace, header);
  TraceNode node;
  while (reader.next(message)) {
    const std::size_t number = reader.count() - 1;
    if (!node.ParseFromString(message)) fail_message(trace.file, number, "it is no node of a trace");
    try {
      trace.nodes.push_back(node_of(node));
    } catch (const NodeFault& fault) {
      fail_message(trace.file, number, fmt::format("node {} ('{}'): {}", node.id(), node.name(), fault.what));
    }
  }
}

const nlohmann::json* member(const nlohmann::json& node, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = node.find(name);
    if (found != node.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::uint64_t> ids_of(const nlohmann::json* list) {
  std::vector<std::uint64_t> out;
  if (list == nullptr) return out;
  if (!list->is_array()) throw NodeFault{"its dependencies are no list"};
  for (const nlohmann::json& id : *list) {
    if (!id.is_number_integer()) throw NodeFault{"it depends on something that is no id"};
    out.push_back(id.get<std::uint64_t>());
  }
  return out;
}

ChakraNode json_node(const nlohmann::json& node) {
  if (!node.is_object()) throw NodeFault{"it is no mapping"};
  ChakraNode out;
  const nlohmann::json* id = member(node, {"Id", "id"});
  const nlohmann::json* kind = member(node, {"NodeType", "type"});
  if (id == nullptr || !id->is_number_integer()) throw NodeFault{"it has no id"};
  if (kind == nullptr || !kind->is_number_integer()) throw NodeFault{"it has no type"};
  out.id = id->get<std::uint64_t>();
  out.kind = node_kind(kind->get<std::int64_t>());
  const nlohmann::json* name = member(node, {"Name", "name"});
  if (name != nullptr && name->is_string()) out.name = name->get<std::string>();
  out.control_dependencies = ids_of(member(node, {"ctrlDeps", "ctrl_deps"}));
  out.data_dependencies = ids_of(member(node, {"dataDeps", "data_deps"}));
  const nlohmann::json* duration = member(node, {"runtime", "duration_micros"});
  if (duration != nullptr && duration->is_number()) {
    out.duration_us = static_cast<std::uint64_t>(whole("runtime", at_least_0("runtime", duration->get<double>())));
  }
  for (const char* key :
       {"is_cpu_op", "num_ops", "tensor_size", "comm_size", "comm_type", "comm_tag", "comm_dst", "comm_src"}) {
    const nlohmann::json* value = member(node, {key});
    if (value == nullptr) continue;
    if (value->is_boolean()) take_number(out, key, value->get<bool>() ? 1 : 0);
    if (value->is_number()) take_number(out, key, value->get<double>());
  }
  return out;
}

void read_json(const std::string& text, ChakraTrace& trace) {
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& fault) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(fault.byte, text.size())), '\n');
    fail_input({trace.file, static_cast<int>(line) + 1, 0}, "this is no JSON", std::string(kExpected));
  }
  const auto graph = root.find("workload_graph");
  if (graph == root.end() || !graph->is_array()) {
    fail_input(
        {trace.file, 0, 0}, "this JSON has no list workload_graph",
        "give a trace of Chakra's converter; what PyTorch's observer writes has no durations and is not linked yet");
  }
  for (const nlohmann::json& node : *graph) {
    try {
      trace.nodes.push_back(json_node(node));
    } catch (const NodeFault& fault) {
      fail_input({trace.file, 0, 0}, fmt::format("workload_graph[{}]: {}", trace.nodes.size(), fault.what));
    }
  }
}

// Decides by the name: a header of 123 bytes begins with '{', too.
bool is_json(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

// Returns the rank in a file's name: "all_reduce.12.et.gz" is rank 12's.
std::optional<std::int64_t> rank_of_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view ending : {".gz", ".et", ".json"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  std::int64_t rank = 0;
  const char* end = name.data() + name.size();
  const auto [stop, fault] = std::from_chars(name.data() + dot + 1, end, rank);
  if (fault != std::errc() || stop != end || rank < 0) return std::nullopt;
  return rank;
}

void check_ids(const ChakraTrace& trace) {
  std::unordered_set<std::uint64_t> known;
  known.reserve(trace.nodes.size());
  for (const ChakraNode& node : trace.nodes) {
    if (known.insert(node.id).second) continue;
    fail_input({trace.file, 0, 0}, fmt::format("two nodes have the id {}", node.id), "ids are unique in a file");
  }
}

}  // namespace

std::string_view name_of(ChakraNodeKind kind) {
  constexpr std::string_view names[] = {"invalid", "metadata", "memory load", "memory store",
                                        "compute", "send",     "receive",     "collective"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(ChakraCollective kind) {
  constexpr std::string_view names[] = {
      "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
      "all-to-all", "reduce-scatter", "reduce-scatter block", "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

ChakraTrace read_chakra_trace(const std::filesystem::path& path) {
  ChakraTrace out;
  out.file = path.string();
  out.rank = rank_of_name(path).value_or(0);
  MessageReader reader(path);
  if (is_json(path)) {
    read_json(reader.rest(), out);
  } else {
    read_messages(reader, out);
  }
  check_ids(out);
  return out;
}

namespace {

TraceAttribute& attribute(google::protobuf::RepeatedPtrField<TraceAttribute>& list, std::string_view name) {
  TraceAttribute& out = *list.Add();
  out.set_name(std::string(name));
  return out;
}

void write_message(std::ostream& out, const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.WriteVarint64(message.ByteSizeLong());
    message.SerializeWithCachedSizes(&coded);
  }
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void add_communication(TraceNode& wire, const ChakraNode& node) {
  auto& list = *wire.mutable_attributes();
  if (node.collective) attribute(list, "comm_type").set_int64_value(static_cast<std::int64_t>(*node.collective));
  attribute(list, "comm_size").set_int64_value(static_cast<std::int64_t>(node.bytes));
  if (!node.group.empty()) attribute(list, "pg_name").set_string_value(node.group);
  if (!node.peer) return;
  const auto peer = static_cast<std::int32_t>(*node.peer);
  attribute(list, node.kind == ChakraNodeKind::send ? "comm_dst" : "comm_src").set_int32_value(peer);
  attribute(list, "comm_tag").set_int32_value(static_cast<std::int32_t>(node.tag));
  if (node.rendezvous) attribute(list, "rendezvous").set_bool_value(true);
}

}  // namespace

ChakraWriter::ChakraWriter(std::ostream& out, const ChakraTrace& head,
                           const std::vector<std::pair<std::string, std::string>>& more)
    : out_(out) {
  TraceHeader header;
  header.set_version(head.version);
  auto& list = *header.mutable_attributes();
  attribute(list, "rank").set_int64_value(head.rank);
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const ChakraGroup& group : head.groups) groups[group.name] = group.size;
  attribute(list, "group_sizes").set_string_value(groups.dump());
  for (const auto& [name, value] : more) attribute(list, name).set_string_value(value);
  write_message(out_, header);
}

void ChakraWriter::add(const ChakraNode& node) {
  TraceNode wire;
  wire.set_id(node.id);
  wire.set_name(node.name);
  wire.set_type(static_cast<std::int32_t>(node.kind));
  for (const std::uint64_t id : node.control_dependencies) wire.add_control_dependencies(id);
  for (const std::uint64_t id : node.data_dependencies) wire.add_data_dependencies(id);
  wire.set_start_us(node.start_us);
  wire.set_duration_us(node.duration_us.value_or(0));
  auto& list = *wire.mutable_attributes();
  attribute(list, "is_cpu_op").set_bool_value(node.on_host);
  if (node.kind == ChakraNodeKind::compute) {
    attribute(list, "num_ops").set_int64_value(static_cast<std::int64_t>(node.operations));
    attribute(list, "tensor_size").set_uint64_value(static_cast<std::uint64_t>(node.tensor_bytes));
  } else {
    add_communication(wire, node);
  }
  if (node.duration_ps) attribute(list, "duration_ps").set_uint64_value(*node.duration_ps);
  if (!node.stream.empty()) attribute(list, "stream").set_string_value(node.stream);
  if (node.microbatch >= 0) attribute(list, "microbatch").set_int32_value(node.microbatch);
  write_message(out_, wire);
}

}  // namespace mirfak
