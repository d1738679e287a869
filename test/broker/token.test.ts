import { describe, expect, test } from 'vitest';
import { TokenCheck } from '../../src/broker/token.ts';
import { hashOf, newToken } from '../support/broker.ts';

const token = newToken();
const checkOf = (expiresAt = Date.now() + 60_000) => new TokenCheck({ tokenHash: hashOf(token), expiresAt });
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('SK-05 the token of a run', () => {
  test.each([
    { authorization: `Bearer ${token}` },
    { authorization: `bearer  ${token} ` },
    { authorization: token },
    { 'proxy-authorization': basic(`skillbox:${token}`) },
    { 'proxy-authorization': basic(`${token}:`) },
    { 'x-api-key': token },
    { 'api-key': token },
    { 'x-goog-api-key': token },
    { authorization: 'Bearer other', 'x-api-key': token },
  ])('is found in %j', headers => {
    expect(checkOf().presented(headers, {})).toBe('ok');
  });

  test('is missing, wrong or too old', () => {
    expect(checkOf().presented({ 'x-other': token }, {})).toBe('missing');
    expect(checkOf().presented({ authorization: '' }, {})).toBe('wrong');
    expect(checkOf().presented({ authorization: `Bearer ${token}x` }, {})).toBe('wrong');
    expect(checkOf(Date.now() - 1).presented({ authorization: `Bearer ${token}` }, {})).toBe('expired');
  });

  test('that was shown once on a connection is shown anew with each request', () => {
    const [check, connection] = [checkOf(), {}];
    const right = { authorization: `Bearer ${token}` };
    expect(check.presented(right, connection)).toBe('ok');
    expect(check.presented({ authorization: 'Bearer other' }, connection)).toBe('wrong');
    expect(check.presented({}, connection)).toBe('missing');
    expect(check.presented({ 'x-api-key': `Bearer ${token}` }, connection)).toBe('ok');
    expect(check.presented(right, connection)).toBe('ok');
  });

  test('is too old on a connection where it was shown, as elsewhere', async () => {
    const [check, connection] = [checkOf(Date.now() + 30), {}];
    const right = { authorization: `Bearer ${token}` };
    expect(check.presented(right, connection)).toBe('ok');
    await expect.poll(() => check.presented(right, connection)).toBe('expired');
    expect(check.now()).toBe('expired');
  });

  test('does not go on to a host, whichever header it stands in', () => {
    const check = checkOf();
    for (const name of ['Authorization', 'Proxy-Authorization', 'X-Api-Key', 'api-key', 'x-goog-api-key'])
      expect(check.isIn(name, `Bearer ${token}`)).toBe(true);
    expect(check.isIn('authorization', basic(`user:${token}`))).toBe(true);
    expect(check.isIn('authorization', 'Bearer other')).toBe(false);
    expect(check.isIn('x-other', token)).toBe(false);
  });
});
