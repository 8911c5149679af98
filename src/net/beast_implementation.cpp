// Beast's function bodies, compiled once instead of in every file (BOOST_BEAST_SEPARATE_COMPILATION).
#include <boost/beast/src.hpp>
