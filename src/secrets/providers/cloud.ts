import { endpoint, type Provider, shipped } from '../provider.ts';

const CHANGE = { limits: { requests: 100 } };

export const hetzner: Provider = shipped('hetzner', 'Hetzner Cloud', 'api.hetzner.cloud', { form: 'bearer' }, [
  endpoint('servers.read', 'read what servers there are', [
    'GET /v1/servers',
    'GET /v1/servers/*',
    'GET /v1/servers/*/metrics',
    'GET /v1/servers/*/actions',
  ]),
  endpoint('servers.create', 'create servers, which costs money', 'POST /v1/servers', { limits: { requests: 10 } }),
  endpoint(
    'servers.power',
    'start, stop and reboot servers',
    [
      'POST /v1/servers/*/actions/poweron',
      'POST /v1/servers/*/actions/poweroff',
      'POST /v1/servers/*/actions/shutdown',
      'POST /v1/servers/*/actions/reboot',
      'POST /v1/servers/*/actions/reset',
    ],
    CHANGE,
  ),
  endpoint('servers.delete', 'delete servers with all that is on them', 'DELETE /v1/servers/*', {
    limits: { requests: 10 },
  }),
  endpoint('catalog.read', 'read prices, types, images and places', [
    'GET /v1/pricing',
    'GET /v1/server_types',
    'GET /v1/images',
    'GET /v1/locations',
    'GET /v1/datacenters',
  ]),
  endpoint('actions.read', 'read how changes come along', ['GET /v1/actions', 'GET /v1/actions/*']),
]);

export const cloudflare: Provider = shipped('cloudflare', 'Cloudflare', 'api.cloudflare.com', { form: 'bearer' }, [
  endpoint('zones.read', 'read what zones there are', ['GET /client/v4/zones', 'GET /client/v4/zones/*']),
  endpoint('dns.read', 'read DNS records', [
    'GET /client/v4/zones/*/dns_records',
    'GET /client/v4/zones/*/dns_records/*',
  ]),
  // Anybody can look up a record: it carries what stands in it to the world.
  endpoint(
    'dns.write',
    'change DNS records',
    ['POST /client/v4/zones/*/dns_records', 'PUT,PATCH,DELETE /client/v4/zones/*/dns_records/*'],
    { carriesOut: true, ...CHANGE },
  ),
  endpoint('cache.purge', 'empty the cache of a zone', 'POST /client/v4/zones/*/purge_cache', CHANGE),
  endpoint('tokens.verify', 'check the key', 'GET /client/v4/user/tokens/verify'),
]);
