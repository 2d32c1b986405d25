import { expect } from 'chai'
import { createOutput } from '../../../src/lib/cli/output.ts'

function say(json: boolean, quiet: boolean, text = 'text'): { stdout: string; stderr: string } {
  const said = { stdout: '', stderr: '' }
  const stdout = { write: (text: string) => void (said.stdout += text) }
  const stderr = { write: (text: string) => void (said.stderr += text) }
  const output = createOutput({ json, quiet, stdout, stderr })
  output.note('done')
  output.warn('careful')
  output.warn('careful')
  void output.result(text, { a: 1 })
  return said
}

describe('createOutput', () => {
  it('puts the result on stdout, notes and each warning once on stderr', () => {
    expect(say(false, false)).to.deep.equal({
      stdout: 'text\n',
      stderr: 'done\nwarning: careful\n',
    })
  })

  it('puts one line of JSON on stdout, and still warns', () => {
    expect(say(true, false)).to.deep.equal({ stdout: '{"a":1}\n', stderr: 'warning: careful\n' })
  })

  it('leaves out notes when quiet, and a result without text', () => {
    expect(say(false, true)).to.deep.equal({ stdout: 'text\n', stderr: 'warning: careful\n' })
    expect(say(false, true, '').stdout).to.equal('')
  })
})
