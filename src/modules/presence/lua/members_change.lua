-- Who of a topic's members is online on one node changes.
-- KEYS[1] the node's set   KEYS[2] nodes of the topic   KEYS[3] cached count
-- ARGV[1] node id   [2] TTL, seconds   [3] a cached count above this stays until it expires: counting anew costs more
-- ARGV[4] 1 = the set is written anew   [5] how many of the following are added, the rest is removed   [6] and on: uids
-- Reply: {"CHANGED", size of the node's set}
if ARGV[4] == '1' then redis.call('DEL', KEYS[1]) end
local adds = tonumber(ARGV[5])
for index = 6, #ARGV do
  redis.call(index - 6 < adds and 'SADD' or 'SREM', KEYS[1], ARGV[index])
end
local size = redis.call('SCARD', KEYS[1])
if size > 0 then
  redis.call('SADD', KEYS[2], ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[2])
else
  redis.call('SREM', KEYS[2], ARGV[1])
end
local count = tonumber(redis.call('GET', KEYS[3]) or '0')
if count <= tonumber(ARGV[3]) then redis.call('DEL', KEYS[3]) end
return { 'CHANGED', size }
