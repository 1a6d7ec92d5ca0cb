-- A node's set of a topic's online members goes on.
-- KEYS[1] the node's set   KEYS[2] nodes of the topic
-- ARGV[1] node id   [2] TTL, seconds
-- Reply: {"RENEWED", size of the node's set}
local size = redis.call('SCARD', KEYS[1])
if size > 0 then
  redis.call('SADD', KEYS[2], ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[2])
end
return { 'RENEWED', size }
