// Files as they are, each between two symbols that embedded.cpp takes for the ends of an array.
  .macro embed name, file
  .section .rodata
  .balign 64
  .global sheaf_\name\()_begin
  .hidden sheaf_\name\()_begin
  .type sheaf_\name\()_begin, %object
sheaf_\name\()_begin:
  .incbin "\file"
  .global sheaf_\name\()_end
  .hidden sheaf_\name\()_end
  .type sheaf_\name\()_end, %object
sheaf_\name\()_end:
  .byte 0
  .size sheaf_\name\()_begin, . - sheaf_\name\()_begin
  .endm

  embed pytorch_peer, pytorch_peer.py
  embed chart_js, chart.min.js
  embed page_css, page.css
  embed page_js, page.js
  embed watch_js, watch.js

  .section .note.GNU-stack, "", %progbits
