#include "study/embedded.h"

// Defined by embedded/files.S.
extern "C" const char sheaf_pytorch_peer_begin[];
extern "C" const char sheaf_pytorch_peer_end[];
extern "C" const char sheaf_chart_js_begin[];
extern "C" const char sheaf_chart_js_end[];
extern "C" const char sheaf_page_css_begin[];
extern "C" const char sheaf_page_css_end[];
extern "C" const char sheaf_page_js_begin[];
extern "C" const char sheaf_page_js_end[];
extern "C" const char sheaf_watch_js_begin[];
extern "C" const char sheaf_watch_js_end[];

namespace sheaf::study {

std::string_view pytorch_peer() { return {sheaf_pytorch_peer_begin, sheaf_pytorch_peer_end}; }
std::string_view chart_js() { return {sheaf_chart_js_begin, sheaf_chart_js_end}; }
std::string_view page_css() { return {sheaf_page_css_begin, sheaf_page_css_end}; }
std::string_view page_js() { return {sheaf_page_js_begin, sheaf_page_js_end}; }
std::string_view watch_js() { return {sheaf_watch_js_begin, sheaf_watch_js_end}; }

}  // namespace sheaf::study
