-- Hides, fill: the seqs that one reader deleted for himself, if the lease they were loaded under still stands.
-- KEYS[1] the reader's hides
-- ARGV[1] the lease's token   ARGV[2] life, s   then the seqs
-- Replies: FILLED  |  REFUSED he deleted something since
local lease = 'lease:' .. ARGV[1]
if redis.call('SREM', KEYS[1], lease) == 0 then return { 'REFUSED' } end
-- Loaded on this server: a copy that a restored dump brings back may lack what was deleted since.
redis.call('SADD', KEYS[1], 'loaded:' .. string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'))
for i = 3, #ARGV do redis.call('SADD', KEYS[1], ARGV[i]) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return { 'FILLED' }
