import { expect } from 'chai'
import { execFileSync, spawn } from 'node:child_process'
import { lstatSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { writeOutputFile } from '../../../src/lib/cli/output-file.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { textOf } from '../../helpers/program.ts'
import { skipBecause } from '../../helpers/skip.ts'

const bytes = Buffer.from('new')

describe('writeOutputFile', () => {
  let folder: string
  const at = (name: string) => join(folder, name)

  beforeEach(() => (folder = newFolder()))

  /** The code of the refusal; `written` when there was none. */
  const attempt = (file: string, force = false): Promise<string> =>
    writeOutputFile(file, bytes, { force }).then(
      () => 'written',
      error => `${error.code}: ${error.message}`,
    )

  it('keeps an existing file, unless it is forced, and leaves nothing beside it', async () => {
    await fs.writeFile(at('a.zip'), 'old')
    expect(await attempt(at('a.zip'))).to.match(/^file_exists: .*a\.zip already exists$/)
    expect(await fs.readFile(at('a.zip'), 'utf8')).to.equal('old')
    expect(await attempt(at('a.zip'), true)).to.equal('written')
    expect(await fs.readFile(at('a.zip'), 'utf8')).to.equal('new')
    expect(await fs.readdir(folder)).to.deep.equal(['a.zip'])
  })

  it('replaces what a symbolic link leads to, not the link', async () => {
    await fs.writeFile(at('real.zip'), 'old')
    await fs.symlink('real.zip', at('link.zip'))
    expect(await attempt(at('link.zip'))).to.match(/^file_exists/)
    expect(await attempt(at('link.zip'), true)).to.equal('written')
    expect(lstatSync(at('link.zip')).isSymbolicLink()).to.equal(true)
    expect(await fs.readFile(at('real.zip'), 'utf8')).to.equal('new')
    await fs.symlink('nowhere', at('dangling.zip'))
    expect(await attempt(at('dangling.zip'))).to.match(/^file_exists/)
  })

  it('refuses a folder, also one that is not there yet', async () => {
    await fs.mkdir(at('a'))
    for (const file of [at('a'), at('a/'), at('b/')]) {
      expect(await attempt(file, true)).to.match(/^usage_invalid: .* is a folder$/)
    }
    expect(await fs.readdir(folder)).to.deep.equal(['a'])
  })

  it('says why when it cannot, and leaves nothing', async () => {
    await fs.writeFile(at('file'), '')
    expect(await attempt(at('no/a.zip'))).to.match(/^storage_failed: .*\(ENOENT\)$/)
    expect(await attempt(at('file/a.zip'))).to.match(/^storage_failed: .*\(ENOTDIR\)$/)
    expect(await attempt(at('x'.repeat(300)))).to.match(/^storage_failed: .*\(ENAMETOOLONG\)$/)
    expect(await fs.readdir(folder)).to.deep.equal(['file'])
  })

  it('writes to a pipe without replacing it', async function () {
    if (process.platform === 'win32') skipBecause(this, 'Windows has no named pipes in folders')
    execFileSync('mkfifo', [at('pipe')])
    // Another process reads: a pipe that nobody writes to would keep this one from ending.
    const reader = spawn('cat', [at('pipe')])
    // From the start: what a program wrote that has ended is dropped.
    const read = textOf(reader.stdout)
    try {
      expect(await attempt(at('pipe'))).to.equal('written')
      expect(lstatSync(at('pipe')).isFIFO()).to.equal(true)
      expect(await read).to.equal('new')
    } finally {
      reader.kill()
    }
  })
})
