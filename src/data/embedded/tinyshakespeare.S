// The text as it is, between two symbols that embedded_corpus.cpp takes for the ends of an array.
  .section .rodata
  .balign 64
  .global sheaf_tinyshakespeare_begin
  .hidden sheaf_tinyshakespeare_begin
  .type sheaf_tinyshakespeare_begin, %object
sheaf_tinyshakespeare_begin:
  .incbin "tinyshakespeare.txt"
  .global sheaf_tinyshakespeare_end
  .hidden sheaf_tinyshakespeare_end
  .type sheaf_tinyshakespeare_end, %object
sheaf_tinyshakespeare_end:
  .byte 0
  .size sheaf_tinyshakespeare_begin, . - sheaf_tinyshakespeare_begin

  .section .note.GNU-stack, "", %progbits
