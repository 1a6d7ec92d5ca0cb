-- A dead node holds no online members of a topic any more.
-- KEYS[1] the node's set   KEYS[2] nodes of the topic   KEYS[3] cached count
-- ARGV[1] node id
-- Reply: {"DROPPED"}
redis.call('UNLINK', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[3])
return { 'DROPPED' }
