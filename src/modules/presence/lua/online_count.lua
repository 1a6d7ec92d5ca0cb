-- How many members of a topic are online: the union of the living nodes' sets, so that two devices on two nodes count once.
-- KEYS[1] cached count   KEYS[2] and on: the sets of the living nodes
-- ARGV[1] how long the count is kept, ms
-- Reply: the count
local cached = redis.call('GET', KEYS[1])
if cached then return tonumber(cached) end
local sets = {}
for index = 2, #KEYS do
  if redis.call('EXISTS', KEYS[index]) == 1 then sets[#sets + 1] = KEYS[index] end
end
local count = 0
if #sets == 1 then
  count = redis.call('SCARD', sets[1])
elseif #sets > 1 then
  count = #redis.call('SUNION', unpack(sets))
end
redis.call('SET', KEYS[1], count, 'PX', ARGV[1])
return count
