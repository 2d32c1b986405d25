import { type Case, initialize, product, sessionPost, shown } from '../case.ts'

const hosts = [
  'localhost',
  'localhost:80',
  'LOCALHOST',
  '127.0.0.1',
  '[::1]',
  '[::1]:8765',
  'evil.example',
  'evil.example:8765',
  'localhost.evil.example',
  '127.0.0.1.nip.io',
  '0.0.0.0',
  '192.168.1.1',
  'localhost:x',
]

const origins = [
  'http://localhost',
  'https://localhost:3000',
  'http://127.0.0.1:1',
  'http://[::1]:8765',
  'HTTP://LOCALHOST',
  'null',
  'http://evil.example',
  'http://localhost.evil.example',
  'http://localhost@evil.example',
  'moz-extension://localhost',
  'file://',
  'garbage',
  '',
]

/** What keeps web pages away: both headers, on a request that would be served and on a GET. */
export const originCases: readonly Case[] = [
  ...hosts.map(host =>
    sessionPost({
      name: `Host: ${shown(host)}`,
      session: 'none',
      headers: { Host: host },
      body: initialize(),
    }),
  ),
  ...origins.map(origin =>
    sessionPost({
      name: `Origin: ${shown(origin)}`,
      session: 'none',
      headers: { Origin: origin },
      body: initialize(),
    }),
  ),
  ...product(['GET', 'DELETE', 'OPTIONS'], ['http://localhost', 'http://evil.example', 'null']).map(
    ([method, origin]) => ({
      ...sessionPost({
        name: `Origin, ${method}: ${origin}`,
        session: 'own',
        headers: { Origin: origin },
      }),
      method,
    }),
  ),
]
