-- Hot, fill: rows that a page read from MySQL, and the holes between them.
-- KEYS[1] hot_msgs   KEYS[2] hot_meta
-- ARGV[1] generation that was in force before the rows were read   ARGV[2] life of the set, s
-- ARGV[3] most members   ARGV[4] most bytes   then pairs: seq, member ("<version>:<JSON>", or "0:<seq>" for a hole)
-- Replies: FILLED  |  REFUSED a message was changed since, or is being changed
--@include doubt
--@include hot

local generation, open = hot_state(KEYS[1], KEYS[2], server_run_id(), now_ms())
if open or generation == '' or generation ~= ARGV[1] then return { 'REFUSED' } end
for i = 5, #ARGV, 2 do
  hot_put(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1], tonumber(ARGV[3]), tonumber(ARGV[4]))
end
hot_keep(KEYS[1], KEYS[2], ARGV[2])
return { 'FILLED' }
