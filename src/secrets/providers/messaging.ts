import { endpoint, type Provider, shipped } from '../provider.ts';

const OUT = { carriesOut: true, limits: { requests: 100 } };

export const discord: Provider = shipped('discord', 'Discord', 'discord.com', { form: 'bot' }, [
  endpoint('messages.send', 'send messages into channels', 'POST /api/v10/channels/*/messages', OUT),
  endpoint('messages.edit', 'change its own messages', 'PATCH /api/v10/channels/*/messages/*', OUT),
  endpoint('messages.delete', 'delete messages', 'DELETE /api/v10/channels/*/messages/*'),
  endpoint('messages.read', 'read the messages of channels', [
    'GET /api/v10/channels/*/messages',
    'GET /api/v10/channels/*/messages/*',
  ]),
  endpoint('reactions.add', 'add reactions', 'PUT /api/v10/channels/*/messages/*/reactions/*/@me', OUT),
  endpoint('channels.read', 'read what channels there are', [
    'GET /api/v10/channels/*',
    'GET /api/v10/guilds/*/channels',
  ]),
  endpoint('guilds.read', 'read what servers it is in', ['GET /api/v10/users/@me/guilds', 'GET /api/v10/guilds/*']),
  endpoint('users.me', 'read its own account', 'GET /api/v10/users/@me'),
]);

export const slack: Provider = shipped('slack', 'Slack', 'slack.com', { form: 'bearer' }, [
  endpoint('messages.send', 'send messages into channels', 'POST /api/chat.postMessage', OUT),
  endpoint('messages.update', 'change its own messages', 'POST /api/chat.update', OUT),
  endpoint('messages.delete', 'delete its own messages', 'POST /api/chat.delete'),
  endpoint('messages.read', 'read the messages of channels', [
    'GET,POST /api/conversations.history',
    'GET,POST /api/conversations.replies',
  ]),
  endpoint('channels.read', 'read what channels there are', [
    'GET,POST /api/conversations.list',
    'GET,POST /api/conversations.info',
  ]),
  endpoint('reactions.add', 'add reactions', 'POST /api/reactions.add', OUT),
  endpoint('users.read', 'read who is in the workspace', ['GET,POST /api/users.list', 'GET,POST /api/users.info']),
  endpoint('auth.test', 'check the key', 'GET,POST /api/auth.test'),
]);
