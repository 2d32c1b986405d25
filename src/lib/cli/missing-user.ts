import { homedir, userInfo } from 'node:os'

// The command parser reads the shell and the home folder of the user. The system knows neither
// for a uid without a passwd entry, as in `docker run -u 1234`.

if (process.env.SHELL === undefined && fails(userInfo)) process.env.SHELL = '/bin/sh'
// `homeFolder` rejects an empty value where a command needs the folder.
if (fails(homedir)) process.env.HOME = ''

function fails(lookUp: () => unknown): boolean {
  try {
    lookUp()
    return false
  } catch {
    return true
  }
}
