-- Shared: the hot set of a topic, a copy of its newest messages.
-- hot_msgs: zset of "<version>:<message JSON>" by seq; "0:<seq>" is a known hole.
-- hot_meta: run_id, generation (raised by every change), bytes, and "open:<token>" = expiry ms of each change under way.
local function hot_drop(hot, meta)
  redis.call('DEL', hot)
  redis.call('HDEL', meta, 'bytes')
end

-- Returns the generation ("" when there is none) and whether a change is open. A set of another server is dropped: after a
-- fail-over or a restored dump a recall may be missing from it. So is one whose change was never closed: nobody knows
-- whether it was committed.
local function hot_state(hot, meta, run_id, now)
  local fields = redis.call('HGETALL', meta)
  local generation, owner, open = '', nil, false
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if name == 'generation' then generation = value
    elseif name == 'run_id' then owner = value
    elseif string.sub(name, 1, 5) == 'open:' then
      if tonumber(value) > now then
        open = true
      else
        redis.call('HDEL', meta, name)
        hot_drop(hot, meta)
        if generation ~= '' then generation = text(redis.call('HINCRBY', meta, 'generation', 1)) end
      end
    end
  end
  if owner ~= run_id then
    hot_drop(hot, meta)
    redis.call('HDEL', meta, 'generation', 'run_id')
    generation = ''
  end
  return generation, open
end

-- Begins a generation that no other set ever had on this server.
local function hot_begin(meta, run_id, ttl_seconds)
  local time = redis.call('TIME')
  local generation = text(time[1] * 1000000 + time[2])
  redis.call('HSET', meta, 'run_id', run_id, 'generation', generation)
  redis.call('EXPIRE', meta, ttl_seconds)
  return generation
end

local function hot_remove(hot, meta, seq)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', hot, seq, seq)) do
    redis.call('ZREM', hot, member)
    redis.call('HINCRBY', meta, 'bytes', -#member)
  end
end

local function hot_version(member)
  return tonumber(string.match(member, '^(%d+):') or '0')
end

-- Adds members (seq, member, seq, member…) that are not there yet, and lets the oldest go above the limits: a sixteenth of
-- the set at once, so that a full one does not pay for each message.
local function hot_add(hot, meta, members, added, max_count, max_bytes)
  -- The set may have been lost alone.
  if redis.call('EXISTS', hot) == 0 then redis.call('HSET', meta, 'bytes', 0) end
  redis.call('ZADD', hot, unpack(members))
  local bytes = redis.call('HINCRBY', meta, 'bytes', added)
  local count = redis.call('ZCARD', hot)
  while count > max_count or bytes > max_bytes do
    local oldest = redis.call('ZPOPMIN', hot, math.max(count - max_count, math.ceil(count / 16)))
    if not oldest[1] then return end
    local freed = 0
    for i = 1, #oldest, 2 do freed = freed + #oldest[i] end
    bytes = redis.call('HINCRBY', meta, 'bytes', -freed)
    count = count - #oldest / 2
  end
end

-- Puts one member in place of an older version.
local function hot_put(hot, meta, seq, member, max_count, max_bytes)
  for _, existing in ipairs(redis.call('ZRANGEBYSCORE', hot, seq, seq)) do
    if hot_version(existing) >= hot_version(member) then return end
  end
  hot_remove(hot, meta, seq)
  hot_add(hot, meta, { seq, member }, #member, max_count, max_bytes)
end

local function hot_keep(hot, meta, ttl_seconds)
  redis.call('EXPIRE', hot, ttl_seconds)
  redis.call('EXPIRE', meta, ttl_seconds)
end
