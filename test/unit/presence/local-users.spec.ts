import { LocalUsers } from '../../../src/modules/presence/local-users.js';
import { asTenantId, asTopic, asUserId } from '../../../src/platform/ids/ids.js';
import { topicOfRoom, topicRoom, userRoom } from '../../../src/platform/socket/rooms.js';
import type { ClientSocket } from '../../../src/platform/socket/socket-client.js';

const socketOf = (uid: string, tenant = '1'): ClientSocket =>
  ({ data: { actor: { tenant: asTenantId(tenant), uid: asUserId(uid), sessionId: '1' } } }) as unknown as ClientSocket;

describe("a node's users", () => {
  it('are there once, in one slot, while any of their sockets is', () => {
    const users = new LocalUsers();
    users.layOut(50);
    const [first, second, other] = [socketOf('1'), socketOf('1'), socketOf('1', '2')];
    const user = users.add(first);
    expect(users.add(second)).toBe(user);
    expect(users.add(other)).not.toBe(user);
    expect(users.size).toBe(2);
    expect(users.inSlot(user.slot)).toContain(user);
    const everywhere = Array.from({ length: 50 }, (_, slot) => users.inSlot(slot)).flat();
    expect(everywhere).toHaveLength(2);
    users.remove(first);
    users.remove(first);
    expect(users.has(asTenantId('1'), asUserId('1'))).toBe(true);
    users.remove(second);
    expect(users.has(asTenantId('1'), asUserId('1'))).toBe(false);
    expect(users.inSlot(user.slot)).not.toContain(user);
    expect([...users.tenants()]).toEqual(['2']);
  });

  it('are spread evenly over a round', () => {
    const users = new LocalUsers();
    users.layOut(10);
    for (let uid = 1; uid <= 2_000; uid += 1) users.add(socketOf(String(uid)));
    const sizes = Array.from({ length: 10 }, (_, slot) => users.inSlot(slot).length);
    expect(Math.min(...sizes)).toBeGreaterThan(100);
    expect(Math.max(...sizes)).toBeLessThan(300);
  });
});

it.each(['grp_1', 'grp_1234567890123', 'grp_12345678901', 'room_9', 'p2p_1_2'])('the room of %s names it', (topic) => {
  for (const tenant of ['1', '22', '333', '4444', '55555']) {
    const room = topicRoom(asTenantId(tenant), asTopic(topic));
    expect(topicOfRoom(room)).toEqual({ tenant, topic });
  }
  expect(topicOfRoom(userRoom(asTenantId('1'), asUserId('5')))).toBeNull();
});
