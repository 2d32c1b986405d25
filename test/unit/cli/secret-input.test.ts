import { expect } from 'chai'
import { Readable } from 'node:stream'
import { readSecretFromStdin } from '../../../src/lib/cli/secret-input.ts'
import { failureOf } from '../../helpers/failure.ts'

const flag = '--password-stdin'

describe('readSecretFromStdin', () => {
  const read = async (...chunks: (string | Buffer)[]) => {
    const stdin = Readable.from(chunks.map(chunk => Buffer.from(chunk)))
    return (await readSecretFromStdin(stdin, flag)).reveal()
  }

  it('strips one line end and keeps spaces', async () => {
    const half = Buffer.from('pässword\n').subarray(0, 2)
    const rest = Buffer.from('pässword\n').subarray(2)
    expect(await read(half, rest)).to.equal('pässword')
    expect(await read('word\r\n')).to.equal('word')
    expect(await read('  two words \n\n')).to.equal('  two words \n')
  })

  it('refuses what is empty or no text, without repeating it', async () => {
    const rows: [content: string | Buffer, message: string][] = [
      ['\r\n', 'stdin is empty'],
      [Buffer.from([0x73, 0xff]), 'stdin is not UTF-8 text'],
    ]
    for (const [content, message] of rows) {
      const failure = await failureOf(() => read(content))
      expect(failure.code).to.equal('usage_invalid')
      expect(failure.message).to.contain(flag).and.contain(message)
    }
  })

  it('refuses a terminal at once instead of waiting', async () => {
    const terminal = Object.assign(new Readable({ read() {} }), { isTTY: true })
    const failure = await failureOf(() => readSecretFromStdin(terminal, flag))
    expect(failure.message).to.contain(flag).and.contain('terminal')
  })
})
