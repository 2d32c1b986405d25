import { homedir, userInfo } from 'node:os'

// The command parser asks for the shell and the home folder of the user, and the system has neither
// for a uid without a passwd entry, as in `docker run -u 1234`.

if (process.env.SHELL === undefined && fails(userInfo)) process.env.SHELL = '/bin/sh'
// `homeFolder` refuses the empty one where a command needs it.
if (fails(homedir)) process.env.HOME = ''

function fails(ask: () => unknown): boolean {
  try {
    ask()
    return false
  } catch {
    return true
  }
}
