import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ArtefactStore, type StoreOptions } from '../../src/server/artefacts/store.ts'
import { serverDefaults } from '../../src/server/http/limits.ts'
import { atEnd, newFolder } from '../helpers/cleanup.ts'
import { settableClock } from '../helpers/fakes.ts'
import { describeArtefactStore } from '../unit/artefacts/store-suite.ts'
import { bytesOf, type CreateStore, hexOf, openFolder, sha256 } from '../unit/artefacts/support.ts'
import { type Swift, useSwift } from './swift.ts'

describe('artefacts in a bucket', () => {
  let swift: Swift
  let bucket: string
  let prefixes = 0
  before(async function () {
    swift = await useSwift(this)
    bucket = await swift.bucket()
  })

  const newPrefix = () => `p${++prefixes}`
  async function open(prefix: string, options: StoreOptions = {}): Promise<ArtefactStore> {
    const files = await swift.open(`${bucket}/${prefix}`)
    const store = new ArtefactStore(files, options)
    atEnd(() => store.close())
    await store.start()
    return store
  }
  const keyOf = (prefix: string, hex: string) => `${prefix}/sha256/${hex.slice(0, 2)}/${hex}`

  /** What any S3 tool does, with a client of its own. */
  const tool = {
    async list(prefix: string): Promise<string[]> {
      const asked = { Bucket: bucket.slice('s3://'.length), Prefix: `${prefix}/` }
      return swift.withClient(async (client, s3) => {
        const { Contents = [] } = await client.send(new s3.ListObjectsV2Command(asked))
        return Contents.map(({ Key = '' }) => Key)
      })
    },
    async read(Key: string): Promise<Uint8Array> {
      const asked = { Bucket: bucket.slice('s3://'.length), Key }
      return swift.withClient(async (client, s3) => {
        const { Body } = await client.send(new s3.GetObjectCommand(asked))
        return (await Body?.transformToByteArray()) ?? new Uint8Array()
      })
    },
    async write(Key: string, Body: Uint8Array): Promise<void> {
      const asked = { Bucket: bucket.slice('s3://'.length), Key, Body }
      await swift.withClient((client, s3) => client.send(new s3.PutObjectCommand(asked)))
    },
  }

  const create: CreateStore = async ({ limits, ...options } = {}) => {
    const prefix = newPrefix()
    const clock = settableClock()
    const store = await open(prefix, {
      clock,
      ...options,
      limits: { ...serverDefaults, ...limits },
    })
    return {
      store,
      async damage(hex) {
        const bytes = await tool.read(keyOf(prefix, hex))
        bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
        await tool.write(keyOf(prefix, hex), bytes)
      },
    }
  }
  describeArtefactStore('a bucket', create)

  it('are files as in a folder, which an S3 tool copies in both directions', async () => {
    const folder = newFolder()
    const inFolder = await openFolder(join(folder, 'one'))
    const small = (await inFolder.put(Buffer.from('small'), { display_name: 'small.txt' })).ref
    const large = (await inFolder.put(randomBytes(20_000_000), { metadata: { frame: 7 } })).ref
    await inFolder.close()
    const prefix = newPrefix()
    const bodies = join(folder, 'one', 'sha256')
    for (const path of readdirSync(bodies, { recursive: true, encoding: 'utf8' })) {
      if (!path.includes('/')) continue
      await tool.write(`${prefix}/sha256/${path}`, readFileSync(join(bodies, path)))
    }
    const inBucket = await open(prefix)
    expect((await inBucket.page(undefined, 9)).refs).to.have.deep.members([small, large])
    for (const ref of [small, large]) {
      expect(`sha256:${sha256(await bytesOf(inBucket, hexOf(ref)))}`).to.equal(ref.digest)
    }
    const own = (await inBucket.put(Buffer.from('of the bucket'), { mime: 'text/plain' })).ref

    for (const key of await tool.list(prefix)) {
      const path = join(folder, 'two', key.slice(`${prefix}/`.length))
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, await tool.read(key))
    }
    const copied = await openFolder(join(folder, 'two'))
    expect((await copied.page(undefined, 9)).refs).to.have.deep.members([small, large, own])
    for (const ref of [small, large, own]) {
      expect(`sha256:${sha256(await bytesOf(copied, hexOf(ref)))}`).to.equal(ref.digest)
    }
    await copied.close()
  })

  it('of another server are found at once, and listed after the next look', async () => {
    const prefix = newPrefix()
    const [one, two] = [await open(prefix), await open(prefix)]
    const { ref } = await one.put(randomBytes(100), { display_name: 'first' })
    expect(await two.find(hexOf(ref))).to.deep.equal(ref)
    const other = await one.put(randomBytes(100))
    await two.refresh()
    expect((await two.page(undefined, 9)).refs).to.have.deep.members([ref, other.ref])
    await one.put(await bytesOf(one, hexOf(ref)), { display_name: 'renamed' })
    await one.remove(hexOf(other.ref))
    expect(await two.open(hexOf(other.ref))).to.equal(null)
    await two.refresh()
    const names = (await two.page(undefined, 9)).refs.map(each => each.display_name)
    expect(names).to.deep.equal(['renamed'])
  })

  it('of two servers that store the same bytes at once are one whole artefact', async () => {
    const prefix = newPrefix()
    const servers = [await open(prefix), await open(prefix)]
    const bytes = randomBytes(1000)
    await Promise.all(servers.map((store, at) => store.put(bytes, { display_name: `of ${at}` })))
    const third = await open(prefix)
    const { refs } = await third.page(undefined, 9)
    expect(refs).to.have.length(1)
    expect((await bytesOf(third, sha256(bytes))).equals(bytes)).to.equal(true)
  })

  it('leave nothing of an upload whose source fails', async () => {
    const prefix = newPrefix()
    const store = await open(prefix)
    async function* failing() {
      yield randomBytes(20_000_000)
      throw new Error('gone')
    }
    const failure = await store.put(failing()).catch((error: unknown) => error)
    expect(failure).to.be.an('error').with.property('message', 'gone')
    expect(await tool.list(prefix)).to.deep.equal([])
  })

  it('keep their objects when they expire, and their body when they are removed', async () => {
    const prefix = newPrefix()
    const clock = settableClock()
    const [one, two] = [await open(prefix, { clock }), await open(prefix, { clock })]
    const bytes = randomBytes(100)
    const expires_at = new Date(clock.now() + 1000).toISOString()
    const { ref } = await one.put(bytes, { expires_at })
    const key = keyOf(prefix, hexOf(ref))
    await two.refresh()
    clock.advance(1000)
    await two.refresh()
    expect((await two.page(undefined, 9)).refs).to.deep.equal([])
    expect(await two.find(hexOf(ref))).to.equal(null)
    expect(await tool.list(prefix)).to.deep.equal([key, `${key}.json`])
    const again = (await one.put(bytes)).ref
    expect(await two.find(hexOf(ref))).to.deep.equal(again)
    expect((await two.page(undefined, 9)).refs).to.deep.equal([again])
    expect(await two.remove(hexOf(ref))).to.equal(true)
    expect(await tool.list(prefix)).to.deep.equal([key])
    expect(await one.open(hexOf(ref))).to.equal(null)
  })
})
