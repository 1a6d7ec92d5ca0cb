-- Shared: what the three keys of a user say. KEYS[1] state hash, KEYS[2] sessions (zset session -> expiry),
-- KEYS[3] session_info. All times are milliseconds of this server's clock, so that no two nodes have to agree on one.
local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A crashed node's sessions end one by one, also while another device keeps the keys alive.
local function dropExpired(now)
  local expired = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, 1000)
  if #expired > 0 then
    redis.call('ZREM', KEYS[2], unpack(expired))
    redis.call('HDEL', KEYS[3], unpack(expired))
  end
end

-- Is the user online for others: a live session, or the grace after the last one?
local function isOnline(now, graceMs)
  if redis.call('ZCOUNT', KEYS[2], '(' .. string.format('%.0f', now), '+inf') > 0 then return true end
  local state = redis.call('HMGET', KEYS[1], 'told', 'offline_at')
  return state[1] == 'online' and state[2] ~= false and now < tonumber(state[2]) + graceMs
end

-- The number of a change that is told: rises with every change, also when two fall into one millisecond.
local function nextVersion(now)
  return math.max(now, tonumber(redis.call('HGET', KEYS[1], 'told_at') or '0') + 1)
end

-- Writes what follows from the sessions; the newest of them stands for the user.
local function describe()
  local count = redis.call('ZCARD', KEYS[2])
  local newest = count > 0 and redis.call('HGET', KEYS[3], redis.call('ZREVRANGE', KEYS[2], 0, 0)[1])
  if newest then
    local info = cjson.decode(newest)
    redis.call('HSET', KEYS[1], 'node_id', info.node, 'device', info.device, 'ua', info.ua)
  end
  redis.call('HSET', KEYS[1], 'online', count > 0 and 1 or 0, 'session_count', count)
  return count
end

local function keepFor(ttlMs)
  for index = 1, 3 do redis.call('PEXPIRE', KEYS[index], ttlMs) end
end

-- Decides that a user without sessions is offline, and says so once.
local function settleOffline(now, graceMs, ttlMs)
  if redis.call('ZCARD', KEYS[2]) > 0 then return { 'ONLINE' } end
  local state = redis.call('HMGET', KEYS[1], 'told', 'told_at', 'offline_at', 'last_seen_at', 'last_active_at')
  local leftMs = state[3] and tonumber(state[3]) + graceMs - now or 0
  if leftMs > 0 then return { 'GRACE', leftMs } end
  local seen = tonumber(state[4] or state[5] or '0')
  if state[1] == 'offline' then return { 'OFFLINE', tonumber(state[2]), seen } end
  local version = nextVersion(now)
  redis.call('HSET', KEYS[1], 'online', 0, 'session_count', 0, 'told', 'offline', 'told_at', version)
  if seen > 0 then redis.call('HSET', KEYS[1], 'last_seen_at', seen) end
  redis.call('PEXPIRE', KEYS[1], ttlMs)
  return { 'ANNOUNCE', version, seen }
end
