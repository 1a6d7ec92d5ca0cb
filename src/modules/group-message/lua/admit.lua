-- Admit: lets one send in. Answers a finished claim, checks permission and the counter, claims the client id, gives the number.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline   KEYS[4] claim (uniq:msg)   KEYS[5] group access
-- KEYS[6] hot_meta
-- ARGV[1] sender uid   ARGV[2] owner, token of this attempt   ARGV[3] digest, hex   ARGV[4] in-flight deadline, ms
-- ARGV[5] life of a pending claim, s   ARGV[6] greatest age of a permission, ms   ARGV[7] createdAt, ISO 8601
-- Replies:
--   DONE seq messageId createdAt        stored before; nothing was changed
--   NEEDS_ACCESS                        the permission is not cached or too old: load it and admit again
--   NOT_MEMBER | MUTED untilMs | DISMISSED | NO_GROUP
--   NEEDS_REBASE doubt epoch            epoch "-1" when there is no counter
--   CONFLICT                            the client id belongs to another body
--   PENDING seq                         another attempt of the same message is under way
--   ADMITTED seq epoch aclVersion takenOver("1" = an earlier attempt was abandoned) hotGeneration
--@include doubt
--@include permission

local function decode(json)
  if not json then return nil end
  local ok, value = pcall(cjson.decode, json)
  if ok and type(value) == 'table' then return value end
  return nil
end

local uid, owner, digest = ARGV[1], ARGV[2], ARGV[3]
local claim = decode(redis.call('GET', KEYS[4]))

-- 1. A finished claim is answered at once: the sender may have been muted since, his message is stored all the same.
if claim and claim.status == 'done' and claim.digest == digest then
  return { 'DONE', claim.seq, claim.messageId, claim.createdAt }
end

-- 2. Permission.
local now = now_ms()
local permission = read_permission(KEYS[5], uid, now - tonumber(ARGV[6]))
if not permission then return { 'NEEDS_ACCESS' } end
local refusal = read_refusal(permission)
if refusal then return { refusal } end
if permission.role ~= 'owner' and permission.muted_until > now then return { 'MUTED', text(permission.muted_until) } end
if permission.role == 'member' and permission.mute_all then return { 'MUTED', '0' } end

-- 3. The counter.
local counter, doubt = read_counter(KEYS[1], KEYS[2], KEYS[3])
if doubt then return { 'NEEDS_REBASE', doubt, counter and text(counter.epoch) or '-1' } end
local epoch = text(counter.epoch)

-- 4. The claim. An expired deadline was a doubt above, so an entry in flight belongs to an attempt that may still succeed.
local taken_over = '0'
if claim then
  local alive = claim.status == 'pending' and claim.owner ~= owner and claim.epoch == epoch
    and redis.call('ZSCORE', KEYS[2], claim.seq)
  if (alive or claim.status == 'done') and claim.digest ~= digest then return { 'CONFLICT' } end
  if alive then return { 'PENDING', claim.seq } end
  if claim.owner ~= owner then taken_over = '1' end
end

-- 5. The number.
local seq = text(redis.call('HINCRBY', KEYS[1], 'seq', 1))
redis.call('HINCRBY', KEYS[1], 'entries', 1)
redis.call('ZADD', KEYS[2], seq, seq)
redis.call('ZADD', KEYS[3], now + tonumber(ARGV[4]), seq)
redis.call('SET', KEYS[4], cjson.encode({
  status = 'pending', owner = owner, seq = seq, epoch = epoch, messageId = '', digest = digest, createdAt = ARGV[7],
}), 'EX', ARGV[5])
local generation = redis.call('HGET', KEYS[6], 'generation') or ''
return { 'ADMITTED', seq, epoch, text(permission.acl), taken_over, generation }
