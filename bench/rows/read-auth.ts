/** What it costs to know who reads: the same read with and without a key or a token. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addClientKey } from '../../src/lib/auth/client-keys.ts'
import type { Bench, Load } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { sceneContent, sceneUri } from '../fixture.ts'
import { postScene } from '../host-link.ts'
import type { Measured } from '../table.ts'
import type { Target } from '../targets.ts'
import { startTokenProvider } from '../token-provider.ts'
import { callTexts, noteDifference, openSessions, requestColumns, underLoad } from './requests.ts'

const transport = 'session'
const connections = 16
const call = { method: 'resources/read', params: { uri: sceneUri } }
const reference = 'no key'

/** With a key of the configuration, with a named one, and without. */
export async function measureReadKey(bench: Bench): Promise<Measured> {
  const load = bench.startLoad()
  const key = randomBytes(32).toString('base64url')
  const keyFile = join(bench.folder, 'key')
  writeFileSync(keyFile, key, { mode: 0o600 })
  const configured = ['--auth', 'api-key', '--api-key-file', keyFile]
  const { env, named } = await makeNamedKey(bench)
  // A server for each: one that were asked twice a round would be the better warmed.
  const entries = [
    readEntry(bench, load, reference, await bench.start('serve'), []),
    readEntry(bench, load, 'no key again', await bench.start('serve'), []),
    readEntry(bench, load, 'no key asked, one sent', await bench.start('serve'), [named]),
    readEntry(
      ...([bench, load, 'key of the configuration'] as const),
      await bench.start('serve', { serveArguments: configured }),
      [key],
    ),
    readEntry(
      ...([bench, load, 'named key'] as const),
      await bench.start('serve', { serveArguments: ['--auth', 'api-key'], env }),
      [named],
    ),
  ]
  return measured(bench, entries, {
    name: 'read-key',
    title: `resources/read, 2 KB of JSON, ${connections} connections, with and without a key`,
    notes: ['no key asked, one sent: the server without authentication, sent the same header'],
  })
}

/** With an access token, whose signature is checked at each request, and without. */
export async function measureReadOAuth(bench: Bench): Promise<Measured> {
  const load = bench.startLoad()
  const provider = await startTokenProvider()
  try {
    const { issuer, audience } = provider
    const oauth = ['--auth', 'oauth', '--oauth-issuer', issuer, '--oauth-audience', audience]
    const token = await provider.issue()
    const open = () => bench.start('serve')
    const start = () => bench.start('serve', { serveArguments: oauth })
    const entries = [
      readEntry(bench, load, reference, await open(), []),
      readEntry(bench, load, 'no key again', await open(), []),
      readEntry(bench, load, 'no key asked, token sent', await open(), [token]),
      readEntry(bench, load, 'access token', await start(), [token]),
    ]
    return await measured(bench, entries, {
      name: 'read-oauth',
      title: `resources/read, 2 KB of JSON, ${connections} connections, with and without a token`,
      notes: [
        `token: at+jwt signed with ES256, ${token.length} characters; the keys of the provider are known`,
      ],
    })
  } finally {
    await provider.close()
  }
}

/** `env`: of a server that has the key. */
async function makeNamedKey(bench: Bench): Promise<{ env: Record<string, string>; named: string }> {
  const folder = mkdtempSync(join(bench.folder, 'keys-'))
  const file = join(folder, 'service-cli', 'client-keys.json')
  const { key: named } = await addClientKey(file, { name: 'bench', scope: 'read' })
  return { env: { XDG_CONFIG_HOME: folder }, named }
}

/** Reads with the tokens in turn; without any, with no `Authorization`. */
function readEntry(
  bench: Bench,
  load: Load,
  name: string,
  target: Target,
  tokens: readonly string[],
): Entry {
  const { sceneText } = bench.fixture
  const callers = tokens.length === 0 ? [target] : tokens.map(token => withToken(target, token))
  const [first = target] = callers
  const texts = callers.flatMap(caller => callTexts(transport, caller, [call]))
  const contents = [sceneContent(sceneText)]
  let sessions: readonly string[] = []
  return {
    name,
    prepare: async notes => {
      sessions = await openSessions(load, first, connections, transport)
      await postScene(target, sceneText)
      const [session = ''] = sessions
      await noteDifference(first, { transport, session, call }, { contents }, notes)
      await underLoad(load, target, texts, sessions, bench.pick(2500, 800))
    },
    measure: () => underLoad(load, target, texts, sessions, bench.pick(200, 150)),
  }
}

function withToken(target: Target, token: string): Target {
  return { ...target, mcp: { ...target.mcp, headers: { Authorization: `Bearer ${token}` } } }
}

async function measured(
  bench: Bench,
  entries: readonly Entry[],
  row: Pick<Measured, 'name' | 'title' | 'notes'>,
): Promise<Measured> {
  // Short rounds, and many: a busy machine changes from one second to the next.
  const { rounds, notes } = await compare(entries, bench.pick(41, 9))
  return {
    ...row,
    reference,
    columns: [{ title: 'times cpu', figure: 'cpuUs', show: 'ratio' }, ...requestColumns.slice(1)],
    rounds,
    notes: [...row.notes, ...notes],
  }
}
