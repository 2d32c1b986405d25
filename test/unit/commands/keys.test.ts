import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createKey, listKeys, revokeKey } from '../../../src/commands/keys/run.ts'
import { readLife } from '../../../src/commands/keys/settings.ts'
import { failureOf } from '../../helpers/failure.ts'
import { keyDigest, newKey, readKeysFile } from '../../../src/lib/auth/keys-file.ts'

describe('the commands about keys', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keys-'))
    path = join(folder, 'keys.json')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  type Run = (
    flags: { 'keys-file': string; json: boolean; quiet: boolean; 'read-only': boolean },
    here: Parameters<typeof listKeys>[1],
  ) => Promise<void>

  async function say(run: Run, json = false): Promise<{ out: string; err: string }> {
    const said = { out: '', err: '' }
    const stdout = { write: (text: string) => (said.out += text) }
    const stderr = { write: (text: string) => (said.err += text) }
    const flags = { 'keys-file': path, json, quiet: false, 'read-only': false }
    await run(flags, { stdout, stderr, env: {} })
    return said
  }

  const create = (name?: string, other: object = {}, json = false) =>
    say((flags, here) => createKey(name, { ...flags, ...other }, here), json)
  const list = (json = false) => say(listKeys, json)
  const revoke = (name: string, json = false) =>
    say((flags, here) => revokeKey(name, flags, here), json)
  const codeOf = async (run: Promise<unknown>) => (await failureOf(() => run)).code

  it('show the key once, alone on stdout, and keep its hash alone', async () => {
    const { out, err } = await create('anna')
    expect(out).to.match(/^smk_[A-Za-z0-9_-]{43}\n$/)
    expect(err).to.contain('"anna" may read, answer notes, and remove the session events')
    expect(err).to.contain('Authorization: Bearer <key>').and.to.contain('SERVICE_MCP_API_KEY')
    const key = out.trim()
    expect(err).not.to.contain(key)
    const written = await readFile(path, 'utf8')
    expect(written).to.contain(keyDigest(key)).and.not.to.contain(key)
    expect(err).to.contain('servers with this --keys-file ask clients for a key from now on')
    expect((await create('ben')).err).not.to.contain('from now on')
    const later = [await list(), await list(true)]
    for (const said of later) expect(said.out + said.err).not.to.contain(key)
  })

  it('say it as JSON', async () => {
    const made = JSON.parse((await create('ben', { 'read-only': true }, true)).out)
    expect(made).to.include({ name: 'ben', scope: 'read', expires_at: null, file: path })
    expect(made.key).to.match(/^smk_/)
    const { keys } = JSON.parse((await list(true)).out)
    const { created_at } = made
    expect(keys).to.deep.equal([{ name: 'ben', scope: 'read', created_at, expires_at: null }])
    const gone = JSON.parse((await revoke('ben', true)).out)
    expect(gone).to.deep.equal({ name: 'ben', revoked: true, left: 0 })
  })

  it('give a name where none is given, and an expiry where one is', async () => {
    await create()
    await create(undefined, { 'expires-in': '30d' })
    const keys = (await readKeysFile(path)) ?? []
    expect(keys.map(({ name }) => name)).to.deep.equal(['key-1', 'key-2'])
    const { createdAt, expiresAt } = keys[1] ?? {}
    expect(Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? '')).to.equal(30 * 86_400_000)
    const { out } = await list()
    expect(out)
      .to.match(/key-1 +write .*never/)
      .and.to.match(/key-2 +write .*expires in/)
  })

  it('refuse a name that is taken, one that is none, and one that nobody has', async () => {
    await create('anna')
    expect(await codeOf(create('anna'))).to.equal('entry_exists')
    for (const name of ['', 'a b', '../x', '-a', 'ä', 'x'.repeat(65), newKey()]) {
      expect(await codeOf(create(name)), name).to.equal('usage_invalid')
    }
    expect(await codeOf(revoke('ben'))).to.equal('request_refused')
    expect(await readKeysFile(path)).to.have.lengthOf(1)
  })

  it('say what it means that the last key is revoked', async () => {
    await create('anna')
    await create('ben')
    expect((await revoke('anna')).err).not.to.contain('--auth none')
    expect((await revoke('ben')).err).to.contain('--auth none')
    expect(await readKeysFile(path)).to.deep.equal([])
    expect((await list()).err).to.contain('there are no keys')
  })
})

describe('--expires-in', () => {
  const accepted: [word: string, lifeMs: number][] = [
    ['1m', 60_000],
    ['12h', 43_200_000],
    ['8w', 4_838_400_000],
    ['3650d', 315_360_000_000],
  ]
  for (const [word, lifeMs] of accepted) {
    it(`takes ${word}`, () => expect(readLife(word)).to.equal(lifeMs))
  }

  it('refuses what is no time, and what is too long', () => {
    for (const word of ['', '0d', '30', '-1d', '1.5h', '30 d', '1y', '3651d']) {
      expect(() => readLife(word), word).to.throw('expires-in')
    }
  })
})
