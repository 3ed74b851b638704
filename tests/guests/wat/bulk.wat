;; F2: has the engine move memory without end: one instruction, many bytes. The sixth byte of the arguments says how.
(core module $core
  (memory (export "memory") 900)
  (table $table 20000 20000 funcref)
  (elem $entry func $nothing)
  (func $nothing)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32)
    (local $which i32)
    (local.set $which (i32.sub (i32.load8_u offset=5 (local.get 3)) (i32.const 0x30)))
    (loop $again
      ;; 0: fills 56 MiB. 1: copies 28 MiB. 2: copies onto itself, shifted by a byte.
      (if (i32.eq (local.get $which) (i32.const 0))
        (then (memory.fill (i32.const 65536) (i32.const 7) (i32.const 58720256))))
      (if (i32.eq (local.get $which) (i32.const 1))
        (then (memory.copy (i32.const 65536) (i32.const 29425664) (i32.const 29360128))))
      (if (i32.eq (local.get $which) (i32.const 2))
        (then (memory.copy (i32.const 65536) (i32.const 65537) (i32.const 58720256))))
      ;; 3: fills a table. 4: copies one onto itself. 5: grows the memory page by page.
      (if (i32.eq (local.get $which) (i32.const 3))
        (then (table.fill $table (i32.const 0) (ref.func $nothing) (i32.const 20000))))
      (if (i32.eq (local.get $which) (i32.const 4))
        (then (table.copy $table $table (i32.const 1) (i32.const 0) (i32.const 19999))))
      (if (i32.eq (local.get $which) (i32.const 5))
        (then (drop (memory.grow (i32.const 1)))))
      (br $again))
    unreachable)
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
