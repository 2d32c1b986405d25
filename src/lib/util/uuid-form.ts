/** Any UUID in the form in which they are written here, for use in a longer expression. */
export const uuidForm = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
