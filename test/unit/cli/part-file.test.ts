import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { chown, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digestOfFile, openPartFile, placePart } from '../../../src/lib/cli/part-file.ts'
import type { ServiceError } from '../../../src/lib/util/errors.ts'
import { skipBecause } from '../../helpers/skip.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe('a partial download', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'part-file-'))
    path = join(folder, '0123456789ab.part')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const failureOf = (work: Promise<unknown>): Promise<ServiceError> =>
    work.then(
      () => expect.fail('it succeeded'),
      (error: ServiceError) => error,
    )

  it('continues behind the bytes of an earlier run, and knows the hash of all', async () => {
    await writeFile(path, 'first ')
    const part = await openPartFile(path)
    expect(part.bytes).to.equal(6)
    await part.append(Buffer.from('second'))
    await part.close()
    expect(part.digest()).to.equal(sha256('first second'))
    expect(await readFile(path, 'utf8')).to.equal('first second')
  })

  it('begins again after its content was discarded', async () => {
    await writeFile(path, 'wrong bytes')
    const part = await openPartFile(path)
    await part.clear()
    expect(part.bytes).to.equal(0)
    await part.append(Buffer.from('right'))
    await part.close()
    expect(part.digest()).to.equal(sha256('right'))
    expect(await readFile(path, 'utf8')).to.equal('right')
  })

  it('is never written through a symbolic link, into a folder or into a missing one', async () => {
    const target = join(folder, 'target')
    await writeFile(target, 'untouched')
    await symlink(target, path)
    expect(await failureOf(openPartFile(path))).to.include({ code: 'storage_failed' })
    expect(await readFile(target, 'utf8')).to.equal('untouched')
    const asFolder = join(folder, 'a.part')
    await mkdir(asFolder)
    expect(await failureOf(openPartFile(asFolder))).to.include({ code: 'storage_failed' })
    const missing = await failureOf(openPartFile(join(folder, 'none', 'a.part')))
    expect(missing.message).to.match(/^cannot write .* \(ENOENT\)$/)
    expect(missing.hint).to.contain('--out')
  })

  it('is refused when another user put it there, and stays as it is', async function () {
    if (process.geteuid?.() !== 0) skipBecause(this, 'only root can give a file to another user')
    await writeFile(path, 'begun', { mode: 0o666 })
    await chown(path, 65534, 65534)
    const failure = await failureOf(openPartFile(path))
    expect(failure).to.include({ code: 'storage_failed' })
    expect(failure.message).to.contain('belongs to another user')
    expect(await readFile(path, 'utf8')).to.equal('begun')
  })

  it('gets its name when it is complete, and replaces another file only when forced', async () => {
    const target = join(folder, 'render.png')
    await writeFile(path, 'new')
    await writeFile(target, 'old')
    expect(await placePart(path, target, false)).to.equal(false)
    expect(await readFile(target, 'utf8')).to.equal('old')
    expect(await placePart(path, target, true)).to.equal(true)
    expect(await readFile(target, 'utf8')).to.equal('new')
    const failure = await failureOf(placePart(path, join(folder, 'none', 'x'), true))
    expect(failure).to.include({ code: 'storage_failed' })
  })

  it('is compared with a complete file by its hash; a folder has none', async () => {
    await writeFile(path, 'bytes')
    expect(await digestOfFile(path)).to.equal(sha256('bytes'))
    expect(await digestOfFile(folder)).to.equal(null)
    expect(await digestOfFile(join(folder, 'none'))).to.equal(null)
  })
})
