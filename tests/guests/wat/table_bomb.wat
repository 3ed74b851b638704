;; H7: grows a table by 64 entries until it is refused; with arguments, by 2^32 - 1 entries at once.
(core module $core
  (memory (export "memory") 1)
  (table $table 0 funcref)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32)
    (if (i32.gt_u (local.get 4) (i32.const 2))
      (then (drop (table.grow $table (ref.null func) (i32.const -1)))))
    (loop $again
      (br_if $again (i32.ne (table.grow $table (ref.null func) (i32.const 64)) (i32.const -1))))
    unreachable)
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
