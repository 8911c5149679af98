// Boost.JSON compiled in place: a GPU node has Boost's headers at most, never its libraries.
#include <boost/json/src.hpp>
