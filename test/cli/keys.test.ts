import { expect } from 'chai'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readLife } from '../../src/commands/keys/settings.ts'
import { keyDigest, newKey, readKeysFile } from '../../src/lib/auth/keys-file.ts'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'

describe('service-cli keys', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keys-'))
    path = join(folder, 'keys.json')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const keys = (...words: string[]) =>
    runCommand(['keys', ...words, '--keys-file', path], { env: cleanEnv({ HOME: folder }) })
  const json = async (...words: string[]) => JSON.parse((await keys(...words, '--json')).stdout)

  it('shows a key once, alone on stdout, and keeps its hash alone', async () => {
    const { stdout, stderr } = await keys('create', 'anna')
    expect(stdout).to.match(/^smk_[A-Za-z0-9_-]{43}\n$/)
    expect(stderr).to.contain('"anna" may read, answer notes, and remove the session events')
    expect(stderr).to.contain('Authorization: Bearer <key>').and.contain('SERVICE_MCP_API_KEY')
    expect(stderr).to.contain('servers with this --keys-file ask clients for a key from now on')
    const key = stdout.trim()
    const written = await readFile(path, 'utf8')
    expect(written).to.contain(keyDigest(key))
    expect((await keys('create', 'ben')).stderr).not.to.contain('from now on')
    const list = await keys('list')
    expect(written + stderr + list.stdout + list.stderr).not.to.contain(key)
  })

  it('says it as JSON', async () => {
    const made = await json('create', 'ben', '--read-only')
    expect(made).to.include({ name: 'ben', scope: 'read', expires_at: null, file: path })
    expect(made.key).to.match(/^smk_/)
    const { created_at } = made
    const listed = { name: 'ben', scope: 'read', created_at, expires_at: null }
    expect((await json('list')).keys).to.deep.equal([listed])
    expect(await json('revoke', 'ben')).to.deep.equal({ name: 'ben', revoked: true, left: 0 })
  })

  it('gives a name where none is given, and an expiry where one is', async () => {
    await keys('create')
    const { created_at, expires_at } = await json('create', '--expires-in', '30d')
    expect(Date.parse(expires_at) - Date.parse(created_at)).to.equal(30 * 86_400_000)
    const { stdout } = await keys('list')
    expect(stdout).to.match(/key-1 +write .*never/)
    expect(stdout).to.match(/key-2 +write .*expires in/)
  })

  it('refuses a name that is taken, one that is none, and one that nobody has', async () => {
    const codeOf = async (...words: string[]) => (await json(...words)).error.code
    await keys('create', 'anna')
    expect(await codeOf('create', 'anna')).to.equal('entry_exists')
    for (const name of ['', 'a b', '../x', 'ä', 'x'.repeat(65), newKey()]) {
      expect(await codeOf('create', name), name).to.equal('usage_invalid')
    }
    expect(await codeOf('revoke', 'ben')).to.equal('request_refused')
    expect(await readKeysFile(path)).to.have.lengthOf(1)
  })

  it('says what it means that the last key is revoked', async () => {
    await keys('create', 'anna')
    await keys('create', 'ben')
    expect((await keys('revoke', 'anna')).stderr).not.to.contain('--auth none')
    expect((await keys('revoke', 'ben')).stderr).to.contain('--auth none')
    expect((await keys('list')).stderr).to.contain('there are no keys')
  })

  it('takes an expiry from a minute to ten years', () => {
    const lives = ['1m', '12h', '8w', '3650d'].map(readLife)
    expect(lives).to.deep.equal([60_000, 43_200_000, 4_838_400_000, 315_360_000_000])
    for (const word of ['', '0d', '30', '-1d', '1.5h', '30 d', '1y', '3651d']) {
      expect(() => readLife(word), word).to.throw('expires-in')
    }
  })
})
