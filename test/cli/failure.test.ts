import { expect } from 'chai'
import { ServiceError } from '../../src/lib/util/errors.ts'
import { failureText } from '../../src/lib/cli/output.ts'
import { runCommand } from '../helpers/in-process.ts'

describe('a command that fails', () => {
  const failures: [args: string, code: number, message: string][] = [
    ['nosuch', 2, 'command nosuch not found'],
    ['sevre', 2, 'did you mean serve?'],
    ['token crate', 2, 'did you mean token create?'],
    ['serve --prot 1', 2, 'did you mean --port?'],
    ['serve --no-artifacts', 2, 'did you mean --no-artefacts?'],
    ['serve --something', 2, 'service-cli serve --help shows all flags'],
    ['serve --port', 2, 'flag --port expects a value'],
    ['serve --port x', 2, '--port: expected an integer'],
    ['serve --port 70000', 2, '--port: expected an integer less than'],
    ['serve --limit maxSesions=1', 2, 'docs/reference.md lists the limits'],
    ['serve --host 0.0.0.0', 2, '--allow-unauthenticated'],
    ['serve --api-key-file /nonexistent', 2, 'no such file'],
    ['mcp-config cursor --gateway --instance x', 2, '--instance=x cannot also be provided when'],
    ['notes add', 2, 'notes add needs TEXT'],
    ['notes add --object Hero', 2, 'for example: service-cli notes add "Too bright"'],
  ]
  for (const [words, code, message] of failures) {
    it(`ends with ${code} for ${words}, as text and as JSON`, async () => {
      const args = words.split(' ')
      const text = await runCommand(args)
      expect([text.code, text.stdout]).to.deep.equal([code, ''])
      expect(text.stderr).to.match(/^error: .+\n(?:hint: .+\n)?$/)
      expect(text.stderr).to.contain(message)
      for (const json of [
        ['--json', ...args],
        [...args, '--json'],
      ]) {
        const failed = await runCommand(json)
        expect(failed.code).to.equal(code)
        const { error } = JSON.parse(failed.stdout)
        expect(error.code).to.match(/^(usage|config)_invalid$/)
        if (args.at(-1) !== '--port') expect(`${error.message} ${error.hint}`).to.contain(message)
      }
    })
  }

  it('takes --token, --json and --quiet before the command', async () => {
    for (const token of [['--token', 'svc_x'], ['--token=svc_x']]) {
      const { stdout } = await runCommand([...token, '-q', '--json', 'token', 'print'])
      expect(JSON.parse(stdout)).to.include({ token: 'svc_x', source_name: '--token' })
    }
    expect((await runCommand(['--json'])).code).to.equal(2)
  })

  it('shows no word behind a whole command, nor what follows an unknown flag', async () => {
    for (const words of [
      'whoami s3cret',
      'login a s3cret',
      'whoami --tokn=s3cret',
      'whoami -ps3c',
    ]) {
      const { code, stderr } = await runCommand(words.split(' '))
      expect(code).to.equal(2)
      expect(stderr).to.match(/unexpected argument of|nonexistent flag (--tokn|-p)\n/)
      expect(stderr).not.to.contain('s3c')
    }
  })

  it('hides what looks like a token, wherever a message has it', async () => {
    const token = 'svc_abcdefgh12345678'
    for (const words of [[token], ['token', 'create', 'ci', '--scope', token]]) {
      const { stderr } = await runCommand(words)
      expect(stderr).to.contain('[redacted]').and.not.contain(token)
    }
  })
})

describe('failureText', () => {
  it('ends the line of the question when it was cancelled, and no more', () => {
    expect(failureText(new ServiceError('cancelled', 'cancelled'), false)).to.equal('\n')
  })

  it('is one JSON line without members beyond code, message and hint', () => {
    const error = new ServiceError('auth_refused', 'refused', { hint: 'log in', data: { a: 1 } })
    Object.assign(error, { headers: { authorization: 'Bearer s3cret' } })
    const line = '{"error":{"code":"auth_refused","message":"refused","hint":"log in"}}\n'
    expect(failureText(error, true)).to.equal(line)
    expect(error).to.have.nested.property('oclif.exit', 4)
  })

  it('keeps a terminal safe from text of others, and hides the stack of a bug', () => {
    const error = new ServiceError('usage_invalid', 'no \u001b[31m"x"\u202e\n  a  b')
    expect(failureText(error, false)).to.equal('error: no "x"\n  a  b\n')
    expect(failureText(new Error('boom'), false)).to.equal('error: internal: boom\n')
  })
})
