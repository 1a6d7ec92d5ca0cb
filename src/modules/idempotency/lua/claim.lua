-- Idempotency key, first step: takes the key for a request, or says what became of the request that has it.
-- KEYS[1] hash state, digest, owner, answer   ARGV[1] owner token   ARGV[2] digest of the request   ARGV[3] life of a claim, s
-- Replies: { 'CLAIMED' } | { 'CONFLICT' }  another request has the key | { 'PENDING', ms until the claim ends }
--          { 'DONE', answer }
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' or redis.call('PTTL', KEYS[1]) < 0 then redis.call('DEL', KEYS[1]) end
local found = redis.call('HMGET', KEYS[1], 'state', 'digest', 'answer')
if not found[1] then
  redis.call('HSET', KEYS[1], 'state', 'pending', 'digest', ARGV[2], 'owner', ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
  return { 'CLAIMED' }
end
if found[2] ~= ARGV[2] then return { 'CONFLICT' } end
if found[1] == 'done' then return { 'DONE', found[3] } end
return { 'PENDING', redis.call('PTTL', KEYS[1]) }
