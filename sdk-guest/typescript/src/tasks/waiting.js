// The client of a test knows no tasks, so it waits.

export const detachFrom = () => false;
