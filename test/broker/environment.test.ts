import { describe, expect, test } from 'vitest';
import { brokerEnvironment } from '../../src/broker/index.ts';
import { briefOf, customOf, endpointOf } from '../support/broker.ts';

const noProxy = (changes: Parameters<typeof briefOf>[1]) => {
  const env = brokerEnvironment(briefOf('t', changes), 't', 3128, '/ca.pem');
  expect(env.no_proxy).toBe(env.NO_PROXY);
  return env.NO_PROXY?.split(',');
};

describe('what goes to no proxy', () => {
  test("is the broker and the run's own loopback", () => {
    const own = ['127.0.0.1:3128', 'localhost', '127.0.0.1', '::1'];
    expect(noProxy({})).toEqual(own);
    expect(noProxy({ endpoints: [endpointOf()], customs: [customOf()], hosts: ['plain.test'] })).toEqual(own);
  });

  test('and not a loopback that the operator granted', () => {
    expect(noProxy({ endpoints: [endpointOf({ host: 'localhost', port: 11_434, allowPrivate: true })] })).toEqual([
      '127.0.0.1:3128',
      '127.0.0.1',
      '::1',
    ]);
    expect(noProxy({ customs: [customOf({ hosts: ['http://127.0.0.1:8080'] })], hosts: ['[::1]:80'] })).toEqual([
      '127.0.0.1:3128',
      'localhost',
    ]);
  });
});
