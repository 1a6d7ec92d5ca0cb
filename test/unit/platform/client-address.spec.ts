import { addressGroup, clientAddress } from '../../../src/platform/http/client-address.js';

describe("the client's address", () => {
  it("is the connection's own when no proxy is trusted, whatever the header says", () => {
    for (const forged of ['9.9.9.9', '1.1.1.1, 2.2.2.2', '', '::1', 'x']) {
      expect(clientAddress('203.0.113.7', forged, 0)).toBe('203.0.113.7');
    }
  });

  it("is what the outermost trusted proxy saw: entries further left are the client's own words", () => {
    expect(clientAddress('10.0.0.1', '203.0.113.7', 1)).toBe('203.0.113.7');
    expect(clientAddress('10.0.0.1', '9.9.9.9, 8.8.8.8, 203.0.113.7', 1)).toBe('203.0.113.7');
    expect(clientAddress('10.0.0.1', '9.9.9.9, 203.0.113.7, 10.0.0.2', 2)).toBe('203.0.113.7');
    // Two headers are one list.
    expect(clientAddress('10.0.0.1', ['9.9.9.9', '203.0.113.7'], 1)).toBe('203.0.113.7');
  });

  it.each([
    ['fewer entries than proxies', '203.0.113.7', 2],
    ['no header', undefined, 1],
    ['an empty header', '', 1],
    ['what is no address', '203.0.113.7, unknown', 1],
    ['an address with words', '203.0.113.7 or so', 1],
    ['an octet too large', '203.0.113.700', 1],
    ['a hidden address', '_hidden', 1],
  ])("is the connection's own with %s", (_what, header, depth) => {
    expect(clientAddress('10.0.0.1', header, depth)).toBe('10.0.0.1');
  });

  it.each([
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['[2001:db8::1]:443', '2001:db8:0:0:0:0:0:1'],
    ['2001:DB8:0:0::0001', '2001:db8:0:0:0:0:0:1'],
    ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:1'],
    ['::1', '0:0:0:0:0:0:0:1'],
    ['::', '0:0:0:0:0:0:0:0'],
    ['2001:db8::192.0.2.1', '2001:db8:0:0:0:0:c000:201'],
  ])('%s is written %s', (text, address) => {
    expect(clientAddress(text, undefined, 0)).toBe(address);
    expect(clientAddress('10.0.0.1', `6.6.6.6, ${text}`, 1)).toBe(address);
  });

  it('has a word of its own when there is none', () => {
    expect(clientAddress(undefined, undefined, 0)).toBe('unknown');
  });
});

describe('what limits count as one address', () => {
  it('is one IPv4 address', () => {
    expect(addressGroup('203.0.113.7')).toBe('203.0.113.7');
    expect(addressGroup(clientAddress('::ffff:203.0.113.7', undefined, 0))).toBe('203.0.113.7');
  });

  it('is the /64 network of an IPv6 address, in one spelling', () => {
    const one = ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0DB8:0001:0002:9::'];
    expect(new Set(one.map((text) => addressGroup(clientAddress(text, undefined, 0))))).toEqual(
      new Set(['2001:db8:1:2::/64']),
    );
    expect(addressGroup('2001:db8:1:3::1')).not.toBe(addressGroup('2001:db8:1:2::1'));
  });
});
