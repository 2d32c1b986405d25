import { expect } from 'chai'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseRfc3339 } from '../../../../src/lib/util/time.ts'
import type { ServiceError } from '../../../../src/lib/util/errors.ts'
import type { ClientFile } from '../../../../src/lib/mcp/settings/client.ts'
import { type WriteEntryParts, writeEntry } from '../../../../src/lib/mcp/settings/write-entry.ts'
import { skipBecause } from '../../../helpers/skip.ts'

const url = 'http://127.0.0.1:8765/mcp'
const nowMs = parseRfc3339('2026-11-21T10:20:30.456Z') ?? 0
const backupName = 'mcp.json.20261121T102030.456Z.bak'
const isPosix = process.platform !== 'win32'

describe('writeEntry', () => {
  let folder: string
  let file: ClientFile
  const at = (name: string) => join(folder, name)
  const read = (name = 'mcp.json') => readFile(at(name), 'utf8')

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'settings-'))
    file = { root: folder, path: at('mcp.json') }
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const write = (parts: Partial<WriteEntryParts> = {}) =>
    writeEntry({
      file,
      wanted: { format: 'jsonc', section: 'servers', name: 'blender', entry: { url }, input: null },
      force: false,
      isPrivate: true,
      clock: { now: () => nowMs },
      ...parts,
    })

  /** The code and message of the refusal; everything in the folder must be as it was. */
  const refusal = async (parts: Partial<WriteEntryParts> = {}): Promise<string> => {
    const before = await snapshot()
    const outcome = await write(parts).then(
      () => 'written',
      (error: ServiceError) => `${error.code}: ${error.message.replaceAll(folder, '')}`,
    )
    expect(await snapshot()).to.deep.equal(before)
    return outcome
  }

  const snapshot = async () => {
    const names = (await readdir(folder, { recursive: true })).toSorted()
    const entries = names.map(async name => {
      const found = await lstat(at(name))
      return [name, found.mode, found.isFile() ? await read(name) : null]
    })
    return Promise.all(entries)
  }

  const mode = async (name: string) => (await stat(at(name))).mode & 0o777

  it('makes a file for its owner alone, with the folders above it', async () => {
    const path = at(join('.config', 'app', 'mcp.json'))
    const written = await write({ file: { root: folder, path } })
    expect(written).to.deep.equal({ change: 'added', path, backup: null })
    const name = join('.config', 'app', 'mcp.json')
    expect(JSON.parse(await read(name))).to.deep.equal({ servers: { blender: { url } } })
    if (isPosix) expect(await mode(name)).to.equal(0o600)
    if (isPosix) expect(await mode('.config')).to.equal(0o700)
    expect(await readdir(at(join('.config', 'app')))).to.deep.equal(['mcp.json'])
  })

  it('makes a file of a project as every other tool does', async function () {
    if (!isPosix) skipBecause(this, 'there are no modes')
    const umask = process.umask(0o022)
    try {
      await write({ isPrivate: false })
    } finally {
      process.umask(umask)
    }
    expect(await mode('mcp.json')).to.equal(0o644)
  })

  it('merges into a file, and keeps the old one beside it', async () => {
    const before = '\uFEFF{\r\n  // mine\r\n  "servers": {},\r\n  "x": 1\r\n}\r\n'
    await writeFile(file.path, before)
    const backup = at(backupName)
    expect(await write()).to.deep.equal({ change: 'added', path: file.path, backup })
    const entry =
      '{\r\n    "blender": {\r\n      "url": "http://127.0.0.1:8765/mcp"\r\n    }\r\n  }'
    expect(await read()).to.equal(before.replace('{}', entry))
    expect(await read(backupName)).to.equal(before)
    expect((await readdir(folder)).toSorted()).to.deep.equal(['mcp.json', backupName])
  })

  it('keeps mode and owner, of the copy too', async function () {
    if (process.geteuid?.() !== 0) skipBecause(this, 'only root may give files away')
    await writeFile(file.path, '{}')
    await chown(file.path, 12_345, 54_321)
    await chmod(file.path, 0o640)
    await write()
    for (const name of ['mcp.json', backupName]) {
      const { uid, gid } = await stat(at(name))
      expect({ uid, gid, mode: await mode(name) }, name).to.deep.equal({
        uid: 12_345,
        gid: 54_321,
        mode: 0o640,
      })
    }
  })

  it('writes the file that the client reads in place of one that is not there', async () => {
    await writeFile(at('mcp.jsonc'), '{ /* c */ }')
    const instead = [{ root: folder, path: at('mcp.jsonc') }]
    const { path } = await write({ file: { ...file, instead } })
    expect(path).to.equal(at('mcp.jsonc'))
    expect(await read('mcp.jsonc')).to.include('/* c */')
  })

  const malformed: [what: string, bytes: string | Buffer, told: string][] = [
    ['half a file', '{"servers": {', 'config_invalid: /mcp.json:1:14 has neither a comma nor }'],
    [
      'another encoding',
      Buffer.from('\uFEFF{}', 'utf16le'),
      'config_invalid: /mcp.json is not UTF-8',
    ],
    ['a list', '[]', 'config_invalid: /mcp.json does not contain an object'],
    [
      'nothing where entries belong',
      '{"servers":null}',
      'config_invalid: /mcp.json has an unexpected value under "servers"',
    ],
  ]
  for (const [what, bytes, told] of malformed) {
    it(`refuses ${what} and loses nothing`, async () => {
      await writeFile(file.path, bytes)
      expect(await refusal()).to.equal(told)
    })
  }

  it('refuses a file that somebody made read-only', async function () {
    if (!isPosix) skipBecause(this, 'there are no modes')
    await writeFile(file.path, '{}')
    await chmod(file.path, 0o444)
    expect(await refusal()).to.equal('storage_failed: /mcp.json is read-only')
  })

  it('refuses a symbolic link, naming both ends', async () => {
    await writeFile(at('real.json'), '{}')
    await symlink('real.json', file.path)
    expect(await refusal()).to.equal('config_invalid: /mcp.json is a symbolic link to real.json')
  })

  it('refuses a folder that is a symbolic link, unless it is the root', async () => {
    await mkdir(at('real'))
    await symlink('real', at('link'))
    const path = join(at('link'), 'mcp.json')
    const told = 'config_invalid: /link is a symbolic link to real'
    expect(await refusal({ file: { root: folder, path } })).to.equal(told)
    expect((await write({ file: { root: at('link'), path } })).change).to.equal('added')
  })

  it('refuses a folder and a pipe in the place of the file', async () => {
    await mkdir(file.path)
    expect(await refusal()).to.match(
      /^config_invalid: \/mcp\.json (is not a regular file|cannot be)/,
    )
  })

  it('refuses a file of another user, whose it could not stay', async function () {
    const uid = process.geteuid?.()
    if (uid !== 0) skipBecause(this, 'only root can make one')
    await chmod(folder, 0o777)
    await writeFile(file.path, '{}')
    await chmod(file.path, 0o666)
    process.seteuid?.(12_345)
    try {
      expect(await refusal()).to.equal('storage_failed: cannot write /mcp.json (EPERM)')
    } finally {
      process.seteuid?.(0)
    }
  })

  it('merges into what another program wrote in between', async () => {
    await writeFile(file.path, '{"servers":{"a":{"url":"http://a/"}}}')
    let turn = 0
    // The clock is read once for each attempt, just before the file is replaced.
    const clock = {
      now: () => {
        if (turn++ === 0) writeFileSync(file.path, '{"servers":{"b":{"url":"http://b/"}}}')
        return nowMs
      },
    }
    expect((await write({ clock })).change).to.equal('added')
    expect(Object.keys(JSON.parse(await read()).servers)).to.deep.equal(['b', 'blender'])
    expect(await read(`${backupName.replace('.bak', '-1.bak')}`)).to.include('http://b/')
    expect(await readdir(folder)).to.have.length(2)
  })

  it('gives up when another program never stops writing', async () => {
    await writeFile(file.path, '{}')
    let turn = 0
    const clock = {
      now: () => {
        writeFileSync(file.path, `{"turn":${turn++}}`)
        return nowMs
      },
    }
    const error = await write({ clock }).catch((failure: ServiceError) => failure.code)
    expect(error).to.equal('config_busy')
    expect(await readdir(folder)).to.deep.equal(['mcp.json'])
    expect(JSON.parse(await read())).to.deep.equal({ turn: turn - 1 })
  })
})
