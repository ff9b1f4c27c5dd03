//! A program that a test runs as another process.

use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

/// A process, which is killed when this is dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a command.
    ///
    /// # Panics
    ///
    /// When there is no such program.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let program = command.get_program().to_owned();
        Self(
            command
                .spawn()
                .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display())),
        )
    }

    /// Where it reads, where the command pipes that.
    ///
    /// # Panics
    ///
    /// Otherwise.
    pub fn stdin(&mut self) -> &mut ChildStdin {
        self.0
            .stdin
            .as_mut()
            .unwrap_or_else(|| panic!("standard input is piped"))
    }

    /// What it prints, where the command pipes that. It can be taken once.
    ///
    /// # Panics
    ///
    /// Otherwise.
    pub fn stdout(&mut self) -> ChildStdout {
        self.0
            .stdout
            .take()
            .unwrap_or_else(|| panic!("standard output is piped, and taken once"))
    }

    /// What it says on standard error, where the command pipes that. It can be taken once.
    ///
    /// # Panics
    ///
    /// Otherwise.
    pub fn stderr(&mut self) -> ChildStderr {
        self.0
            .stderr
            .take()
            .unwrap_or_else(|| panic!("standard error is piped, and taken once"))
    }

    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal such as `TERM`.
    ///
    /// # Panics
    ///
    /// When it has ended and was waited for.
    pub fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Kills the process, wherever it is, and waits until it has ended.
    ///
    /// # Panics
    ///
    /// When the operating system does not let it be killed.
    pub fn kill(&mut self) {
        self.0
            .kill()
            .unwrap_or_else(|error| panic!("the process cannot be killed: {error}"));
        self.wait();
    }

    /// Whether the process has ended.
    ///
    /// # Panics
    ///
    /// When the operating system does not say.
    pub fn has_ended(&mut self) -> bool {
        let ended = self.0.try_wait();
        ended
            .unwrap_or_else(|error| panic!("the process cannot be looked at: {error}"))
            .is_some()
    }

    /// Waits until the process has ended.
    ///
    /// # Panics
    ///
    /// When the operating system does not say.
    pub fn wait(&mut self) -> ExitStatus {
        self.0
            .wait()
            .unwrap_or_else(|error| panic!("the process cannot be waited for: {error}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal such as `TERM` to the process with this number. The shell does it, since not
/// every machine has the program `kill`.
///
/// # Panics
///
/// When there is no such process.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{name} {process}")])
        .status();
    assert!(
        sent.as_ref().is_ok_and(ExitStatus::success),
        "{name} cannot be sent: {sent:?}"
    );
}
