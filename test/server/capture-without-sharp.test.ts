import { expect } from 'chai'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { pngOf } from '../helpers/pictures.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

/** Loaded into the program first: no package is called sharp. */
const hooks = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(name, context, next) {
      if (name === 'sharp') throw new Error('no such package')
      return next(name, context)
    },
  })`

describe('pictures where sharp is not installed', () => {
  let serve: ServeProcess
  let session: RawSession
  let app: LinkClient
  before(async () => {
    const script = `data:text/javascript,${encodeURIComponent(hooks)}`
    const env = { NODE_OPTIONS: `--import ${script}` }
    serve = await startServeProcess({ flags: ['--capture', 'host'], env })
    session = await RawSession.open(serve.url)
    app = await LinkClient.connect(serve, { capture: { targets: ['window', 'viewport'] } })
  })

  const call = async (name: string, args: object) =>
    (await session.call('tools/call', { name, arguments: args })).result

  it('are shown as they are when they are small enough', async () => {
    const png = pngOf(40, 20)
    const image = { type: 'image', mimeType: 'image/png', data: png.toString('base64') }
    app.answer = () => ({ png })
    const looked = await call('look', { target: 'viewport' })
    expect(looked.content[0]).to.deep.equal(image)
    const hex = await serve.store(png, '', 'image/png')
    const read = await call('read_resource', { uri: `artefact://sha256/${hex}` })
    expect(read.content[0]).to.deep.equal(image)
  })

  it('are facts and a link otherwise, or an error that says what is missing', async () => {
    const hex = await serve.store(pngOf(2000, 10), '', 'image/png')
    const { content } = await call('read_resource', { uri: `artefact://sha256/${hex}` })
    expect(content).to.have.length(1)
    expect(content[0].text).to.include('not shown').and.include('download it from http')
    expect(content[0].text).to.include('more than 1568 pixels or 1 MB needs the package sharp')
    app.answer = () => ({ png: pngOf(100, 2000) })
    const looked = await call('look', { target: 'viewport' })
    expect(looked.isError).to.equal(true)
    expect(looked.content[0].text).to.include('needs the package sharp')
  })

  it('are not taken when they are wider than asked for', async () => {
    app.answer = () => ({ png: pngOf(100, 20) })
    const uri = 'capture://viewport?max_width=50'
    const { error } = await session.call('resources/read', { uri })
    expect(error.data).to.include({ reason: 'failed' })
    expect(error.message).to.include('100 x 20 pixels must become a PNG picture of at most 50')
    expect(error.message).to.include('needs the package sharp')
    app.answer = () => ({ png: Buffer.from('no picture') })
    const other = await session.call('resources/read', { uri })
    expect(other.error.message).to.include('took no PNG picture').and.not.include('sharp')
  })
})
