#include "requests/words.h"

#include <array>
#include <string_view>

namespace assay {
namespace {

// 256: a byte of the generator picks one.
constexpr std::array<std::string_view, 256> kWords = {
    "time",         "year",        "people",      "way",      "day",        "man",      "thing",       "woman",
    "life",         "child",       "world",       "school",   "state",      "family",   "student",     "group",
    "country",      "problem",     "hand",        "part",     "place",      "case",     "week",        "company",
    "system",       "program",     "question",    "work",     "government", "number",   "night",       "point",
    "home",         "water",       "room",        "mother",   "area",       "money",    "story",       "fact",
    "month",        "lot",         "right",       "study",    "book",       "eye",      "job",         "word",
    "business",     "issue",       "side",        "kind",     "head",       "house",    "service",     "friend",
    "father",       "power",       "hour",        "game",     "line",       "end",      "member",      "law",
    "car",          "city",        "community",   "name",     "president",  "team",     "minute",      "idea",
    "body",         "information", "back",        "parent",   "face",       "others",   "level",       "office",
    "door",         "health",      "person",      "art",      "war",        "history",  "party",       "result",
    "change",       "morning",     "reason",      "research", "girl",       "guy",      "moment",      "air",
    "teacher",      "force",       "education",   "foot",     "boy",        "age",      "policy",      "process",
    "music",        "market",      "sense",       "nation",   "plan",       "college",  "interest",    "death",
    "experience",   "effect",      "use",         "class",    "control",    "field",    "development", "role",
    "effort",       "rate",        "heart",       "drug",     "show",       "leader",   "light",       "voice",
    "wife",         "police",      "mind",        "price",    "report",     "decision", "son",         "view",
    "relationship", "town",        "road",        "arm",      "difference", "value",    "building",    "action",
    "season",       "society",     "tax",         "director", "position",   "player",   "record",      "paper",
    "space",        "ground",      "form",        "event",    "official",   "matter",   "center",      "couple",
    "site",         "project",     "activity",    "star",     "table",      "need",     "court",       "oil",
    "situation",    "cost",        "industry",    "figure",   "street",     "image",    "phone",       "data",
    "picture",      "practice",    "piece",       "land",     "product",    "doctor",   "wall",        "patient",
    "worker",       "news",        "test",        "movie",    "north",      "love",     "support",     "technology",
    "step",         "baby",        "computer",    "type",     "attention",  "film",     "tree",        "source",
    "organization", "hair",        "look",        "century",  "evidence",   "window",   "culture",     "chance",
    "brother",      "energy",      "period",      "course",   "summer",     "plant",    "opportunity", "term",
    "letter",       "condition",   "choice",      "rule",     "daughter",   "south",    "husband",     "floor",
    "campaign",     "material",    "population",  "call",     "economy",    "hospital", "church",      "risk",
    "fire",         "future",      "bank",        "west",     "sport",      "board",    "subject",     "officer",
    "rest",         "behavior",    "performance", "top",      "goal",       "second",   "bed",         "order",
    "author",       "blood",       "agency",      "nature",   "color",      "store",    "sound",       "movement",
};

}  // namespace

void append_words(std::uint32_t count, Random& random, std::string& out) {
  std::uint32_t bits = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % 4 == 0) bits = random.bits32();
    if (!out.empty()) out += ' ';
    out += kWords[bits & 0xff];
    bits >>= 8;
  }
}

}  // namespace assay
