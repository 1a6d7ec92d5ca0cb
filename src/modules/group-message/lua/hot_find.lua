-- Hot, find: members of the hot set by seq, for quotes.
-- KEYS[1] hot_msgs   KEYS[2] hot_meta
-- ARGV[1] most bytes of the answer   then the seqs
-- Reply: the members that are there; none while a message is being changed, or when there is no set
--@include doubt
--@include hot

local generation, open = hot_state(KEYS[1], KEYS[2], server_run_id(), now_ms())
local found, bytes = {}, 0
if open or generation == '' then return found end
for i = 2, #ARGV do
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[i], ARGV[i])) do
    bytes = bytes + #member
    if bytes > tonumber(ARGV[1]) then return found end
    found[#found + 1] = member
  end
end
return found
