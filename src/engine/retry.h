/* retry.h - the pause before a transaction is tried again. */
#pragma once

/* Waits after a deadlock, for up to 20 ms times the number of attempts: at random, so that the two
 * that met do not meet again. Any thread. */
void retry_pause(unsigned attempt);
