import { ServiceError } from '../util/errors.ts'
import { numberedName } from './file-name.ts'
import { writeOutputFile } from './output-file.ts'

/** So many files of one name are tried before it is given up. */
const maxNumber = 1000

/** Writes a file of this name or, where there is one, of the next free: never over another. */
export async function saveNewFile(name: string, bytes: Uint8Array): Promise<string> {
  for (let number = 1; number <= maxNumber; number++) {
    const file = numberedName(name, number)
    try {
      await writeOutputFile(file, bytes, { force: false })
      return file
    } catch (error) {
      if (!(error instanceof ServiceError) || !isTaken(error)) throw error
    }
  }
  throw new ServiceError('file_exists', `${name} and ${maxNumber} names like it are taken`, {
    hint: 'choose a name with --out',
  })
}

/** A folder of that name is in the way as a file is. */
function isTaken({ code, message }: ServiceError): boolean {
  return code === 'file_exists' || (code === 'usage_invalid' && message.endsWith('is a folder'))
}
