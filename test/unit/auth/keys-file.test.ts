import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createKeyStore } from '../../../src/lib/config/key-store.ts'
import { hideTokens } from '../../../src/lib/util/secret.ts'
import {
  formatKeys,
  keyDigest,
  maxKeys,
  maxKeysFileBytes,
  type NamedKey,
  newKey,
  parseKeys,
  readKeysFile,
} from '../../../src/lib/auth/keys-file.ts'

const createdAt = '2026-11-01T00:00:00.000Z'

function entry(name: string, other: Partial<NamedKey> = {}): NamedKey {
  return { name, sha256: keyDigest(name), scope: 'write', createdAt, expiresAt: null, ...other }
}

describe('newKey', () => {
  it('is new each time, fits a header, and is hidden in logs', () => {
    const key = newKey()
    expect(key).to.match(/^smk_[A-Za-z0-9_-]{43}$/)
    expect(newKey()).not.to.equal(key)
    expect(hideTokens(`the key ${key} was sent`)).to.equal('the key [redacted] was sent')
  })
})

describe('parseKeys', () => {
  it('reads what formatKeys writes', () => {
    const keys = [
      entry('a', { scope: 'read', expiresAt: '2027-01-01T00:00:00.000Z' }),
      entry('b-2'),
    ]
    expect(parseKeys(formatKeys(keys))).to.deep.equal({ ok: true, value: keys })
    expect(parseKeys(formatKeys([]))).to.deep.equal({ ok: true, value: [] })
  })

  const good = { name: 'a', sha256: keyDigest('a'), scope: 'read', created_at: createdAt }
  const list = (...keys: unknown[]) => JSON.stringify({ form: 1, keys })
  const damaged: [what: string, text: string, failure: string][] = [
    ['half a file', list(good).slice(0, -5), 'is not JSON'],
    ['an array', '[]', 'is not a JSON object'],
    ['another form', JSON.stringify({ form: 2, keys: [] }), 'this version reads form 1'],
    ['an unknown member', JSON.stringify({ form: 1, keys: [], a: 1 }), 'unknown'],
    ['an entry that is none', list(null), '/keys/0'],
    ['a name that is none', list({ ...good, name: 'a b' }), '/keys/0/name'],
    ['a short hash', list({ ...good, sha256: 'ab' }), '/keys/0/sha256'],
    ['an unknown scope', list({ ...good, scope: 'admin' }), '/keys/0/scope'],
    ['an expiry that is no time', list({ ...good, expires_at: 'soon' }), '/keys/0/expires_at'],
    ['a limit of a newer version', list({ ...good, only_from: '10.0.0.0/8' }), 'only_from'],
    ['a name twice', list(good, { ...good, sha256: keyDigest('b') }), 'duplicate name'],
    ['a hash twice', list(good, { ...good, name: 'b' }), 'duplicate sha256'],
    ['too many', list(...Array.from({ length: maxKeys + 1 }, () => good)), `more than ${maxKeys}`],
  ]
  for (const [what, text, failure] of damaged) {
    it(`refuses ${what}`, () => {
      const parsed = parseKeys(text)
      expect(parsed.ok).to.equal(false)
      expect(parsed).to.have.property('failure').that.contains(failure)
    })
  }
})

describe('the file of keys', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keys-'))
    path = join(folder, 'keys.json')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('is absent, which is not the same as empty', async () => {
    expect(await readKeysFile(path)).to.equal(null)
    await writeFile(join(folder, 'file'), '')
    expect(await readKeysFile(join(folder, 'file', 'keys.json'))).to.equal(null)
    await createKeyStore(path).update(keys => keys)
    expect(await readKeysFile(path)).to.deep.equal([])
  })

  it('is made for its owner alone, with hashes and no key', async () => {
    const inner = join(folder, 'new', 'registry')
    const store = createKeyStore(join(inner, 'keys.json'))
    await store.update(() => [entry('a')])
    expect((await stat(store.path)).mode & 0o777).to.equal(0o600)
    expect((await stat(inner)).mode & 0o777).to.equal(0o700)
    expect(await store.read()).to.deep.equal([entry('a')])
  })

  it('loses no change of many at the same time', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `key-${at}`)
    const stores = names.map(() => createKeyStore(path))
    await Promise.all(
      stores.map((store, at) => store.update(keys => [...keys, entry(names[at] ?? '')])),
    )
    const kept = (await readKeysFile(path)) ?? []
    expect(kept.map(({ name }) => name).toSorted()).to.deep.equal(names.toSorted())
  })

  it('stays as it is when a change fails', async () => {
    const store = createKeyStore(path)
    await store.update(() => [entry('a')])
    const failed = await store
      .update(() => {
        throw new Error('no')
      })
      .catch((error: Error) => error.message)
    expect(failed).to.equal('no')
    await writeFile(path, '{')
    const error = await store.update(() => []).catch(cause => cause)
    expect(error, 'a damaged file is not written over').to.include({ code: 'config_invalid' })
  })

  const unsafe: [what: string, spoil: () => Promise<unknown>, message: string][] = [
    ['a symlink', () => symlink('/dev/null', path), 'symbolic link'],
    ['a folder', () => mkdir(path), 'not a regular file'],
    ['readable by others', () => writeFile(path, formatKeys([]), { mode: 0o644 }), 'mode 644'],
    [
      'writable by others',
      () => writeFile(path, formatKeys([])).then(() => chmod(path, 0o620)),
      'mode 620',
    ],
    [
      'too large',
      () => writeFile(path, ' '.repeat(maxKeysFileBytes + 1), { mode: 0o600 }),
      'larger than',
    ],
    ['damaged', () => writeFile(path, '{}', { mode: 0o600 }), 'has an unknown form'],
  ]
  for (const [what, spoil, message] of unsafe) {
    it(`is refused when it is ${what}`, async () => {
      await spoil()
      const error = await readKeysFile(path).catch(cause => cause)
      expect(error).to.include({ code: 'config_invalid' })
      expect(error.message).to.contain(path).and.to.contain(message)
      expect(error.hint).to.be.a('string')
    })
  }
})
