import { expect } from 'chai'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AccountHome,
  type LiteralAccounts,
  createAccountHome,
  startLiteralAccounts,
} from '../helpers/account-home.ts'
import {
  type Step,
  ctrlC,
  ctrlT,
  ctrlZ,
  runAnyOnTerminal,
  runOnTerminal,
  whyNoTerminal,
} from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

// No part of it appears in a prompt or an address.
const password = 'typed Secret Ending'

describe('service-cli on a terminal', () => {
  let registry: LiteralAccounts
  let home: AccountHome

  before(async function () {
    const why = whyNoTerminal()
    if (why !== null) skipBecause(this, why)
    registry = await startLiteralAccounts()
    home = createAccountHome(registry.url)
  })

  async function type(args: readonly string[], steps: readonly Step[]) {
    const ended = await runOnTerminal(args, { env: home.env(), steps })
    home.remember({ args, ...ended })
    return { code: ended.code, screen: ended.stdout }
  }

  it('asks for all that registration needs, the password twice, and shows nothing of it', async () => {
    const { code, screen } = await type(
      ['register'],
      [
        { await: 'Username:', send: 'alice\r' },
        { await: 'Email:', send: 'alice@studio.example\r' },
        { await: 'New password:', send: 'short\r' },
        { await: 'at least 8', send: `${'\u007f'.repeat(5)}${password}\r` },
        { await: 'again:', send: `${password}\r` },
      ],
    )
    expect(code, screen).to.equal(0)
    expect(screen).to.contain('registered alice').and.contain('logged in')
    expect(screen).not.to.contain('short').and.not.contain(password)
  })

  it('ends with 130 on Ctrl-C at the prompt, with nothing saved, sent or shown', async () => {
    const before = home.config()
    const asked = registry.asked.length
    const { code, screen } = await type(
      ['login', 'alice'],
      [
        // Ctrl-T would show a password that is typed.
        { await: 'Password:', send: `half of it${ctrlT}` },
        // Written again after each key.
        { await: 'masked', send: ctrlC },
      ],
    )
    expect(code, screen).to.equal(130)
    expect(screen).not.to.match(/half of it|\*\*\*\*|error|Error|\s+at .*:\d+:\d+/)
    // The cursor is shown again.
    expect(screen.lastIndexOf('\u001b[?25h')).to.be.greaterThan(screen.lastIndexOf('\u001b[?25l'))
    expect(home.config()).to.equal(before)
    expect(registry.asked).to.have.length(asked)
  })

  it('is cancelled by Ctrl-Z and fg, and shows nothing of the password', async function () {
    if (!existsSync('/bin/bash')) skipBecause(this, 'there is no /bin/bash for job control')
    const asked = registry.asked.length
    const settings = join(home.folder, 'bashrc')
    writeFileSync(settings, "PS1='READY> '\n")
    const { stdout: screen, code } = await runAnyOnTerminal(
      ['/bin/bash', '--noprofile', '--rcfile', settings, '-i'],
      {
        env: home.env({ NODE: process.execPath }),
        steps: [
          { await: 'READY> ', send: '"$NODE" bin/run.js login alice\r' },
          { await: 'Password:', send: password.slice(0, 8) },
          { await: 'masked', send: ctrlZ },
          { await: 'READY> ', send: 'fg\r' },
          { await: 'READY> ', send: 'exit\r' },
        ],
      },
    )
    home.remember({ args: ['login'], code, stdout: screen, stderr: '' })
    expect(code, screen).to.equal(130)
    expect(screen).to.contain('Stopped')
    expect(registry.asked).to.have.length(asked)
  })

  it('has shown no password and no token', () => {
    expect(registry.secrets).to.include(password)
    expect(home.leaks([...registry.secrets, 'half of it', password.slice(0, 8)])).to.deep.equal([])
  })
})
