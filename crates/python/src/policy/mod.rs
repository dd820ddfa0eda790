// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies that are written in Python. Each decision calls the policy with the interpreter's lock held, and
//! each CPU sample resumes it.
//!
//! A function that returns decides at once. A function that yields CPUs is a scan: each `yield` samples a
//! CPU, which takes simulated time, and returns a [`CpuSample`]. `None` leaves the decision to the kernel's
//! rules. The result for a wake-up is a CPU; for a balance pass it is `False` (nothing is pulled) or a CPU
//! with a number of tasks; for an idle CPU it is the index of an idle state.

mod requests;

use fairlab_cli::embed::{Message, PolicyFactory};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::policy;
use fairlab_sched::interface::policy::{BalanceChoice, IdleChoice, PolicyHook, PolicyScope, WakeChoice};
use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyType};
pub(crate) use requests::{BalanceRequest, CpuSample, IdleRequest, WakeRequest};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Exception of a policy: the cause of the error that ends its run.
#[derive(Clone, Default)]
pub(crate) struct PolicyException(Arc<Mutex<Option<PyErr>>>);

impl PolicyException {
    fn record(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Sets the exception of a policy, if there is one, as the cause of an error.
    pub(crate) fn with_cause<T>(&self, py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.inspect_err(|error| {
            if let Some(cause) = cause {
                error.set_cause(py, Some(cause));
            }
        })
    }
}

/// Policies with their names. Each is a Python function that creates the functions of the policy, by name,
/// for one run.
pub(crate) type Policies = Vec<(String, Py<PyAny>)>;

/// Converts Python's policies to factories for the command.
pub(crate) fn policy_factories(policies: Option<Policies>, raised: &PolicyException) -> Vec<(String, PolicyFactory)> {
    let maker = |(name, make): (String, Py<PyAny>)| {
        let raised = raised.clone();
        let make: PolicyFactory = Arc::new(move || {
            Python::attach(|py| {
                PythonPolicy::from_factory(&make, py, raised.clone())
                    .map(|policy| Box::new(policy) as Box<dyn PolicyHook>)
                    .map_err(|error| {
                        let why = Message::new(format!("could not be created: {error}"));
                        raised.record(error);
                        why
                    })
            })
        });
        (name, make)
    };
    policies.unwrap_or_default().into_iter().map(maker).collect()
}

/// Owner of a scan in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SearchOwner {
    Task(TaskId),
    /// CPU that executes a balance pass. Passes of one CPU do not nest.
    Cpu(CpuId),
}

/// Result of calling or resuming a function of a policy.
enum PolicyStep<'py> {
    /// The function yielded this CPU.
    Sample(CpuId),
    /// The function returned this value.
    Done(Bound<'py, PyAny>),
    /// The function yielded a value that is not a CPU.
    Invalid(String),
}

/// Python policy during a run.
struct PythonPolicy {
    /// Functions of the policy, for the decisions that it makes.
    select: Option<Py<PyAny>>,
    balance: Option<Py<PyAny>>,
    idle_state: Option<Py<PyAny>>,
    /// Type of generators, which identifies functions that yield.
    generator: Py<PyType>,
    searches: HashMap<SearchOwner, Py<PyAny>>,
    /// Names of tasks, indexed by task id.
    names: Vec<Option<Py<PyString>>>,
    raised: PolicyException,
}

impl PolicyHook for PythonPolicy {
    fn scope(&self) -> PolicyScope {
        PolicyScope {
            wakeups: self.select.is_some(),
            balancing: self.balance.is_some(),
            idle_states: self.idle_state.is_some(),
        }
    }

    fn select(&mut self, request: &policy::WakeRequest<'_>, seen: Option<&policy::CpuSample>) -> WakeChoice {
        Python::attach(|py| {
            let name = self.names.get(request.task.index()).and_then(Option::as_ref).map(|name| name.clone_ref(py));
            let name = name.unwrap_or_else(|| PyString::new(py, "").unbind());
            let function = self.select.as_ref().map(|function| function.clone_ref(py));
            let new_request = || WakeRequest::from_request(request, name);
            match self.call_or_resume(py, SearchOwner::Task(request.task), function, new_request, seen) {
                Ok(PolicyStep::Sample(cpu)) => WakeChoice::Sample(cpu),
                Ok(PolicyStep::Done(answer)) if answer.is_none() => WakeChoice::Kernel,
                Ok(PolicyStep::Done(answer)) => answer.extract().map_or_else(
                    |_| WakeChoice::Fail(wrong_type_message(&answer, "CPU")),
                    |cpu| WakeChoice::Cpu(CpuId(cpu)),
                ),
                Ok(PolicyStep::Invalid(why)) => WakeChoice::Fail(why),
                Err(error) => WakeChoice::Fail(self.fail_with(error)),
            }
        })
    }

    fn balance(&mut self, request: &policy::BalanceRequest<'_>, seen: Option<&policy::CpuSample>) -> BalanceChoice {
        Python::attach(|py| {
            let function = self.balance.as_ref().map(|function| function.clone_ref(py));
            let new_request = || BalanceRequest::from(request);
            match self.call_or_resume(py, SearchOwner::Cpu(request.on), function, new_request, seen) {
                Ok(PolicyStep::Sample(cpu)) => BalanceChoice::Sample(cpu),
                Ok(PolicyStep::Done(answer)) => balance_choice(&answer),
                Ok(PolicyStep::Invalid(why)) => BalanceChoice::Fail(why),
                Err(error) => BalanceChoice::Fail(self.fail_with(error)),
            }
        })
    }

    fn idle_state(&mut self, request: &policy::IdleRequest<'_>) -> IdleChoice {
        Python::attach(|py| {
            let Some(function) = &self.idle_state else { return IdleChoice::Kernel };
            match function.bind(py).call1((IdleRequest::from(request),)) {
                Ok(answer) if answer.is_none() => IdleChoice::Kernel,
                Ok(answer) => answer
                    .extract()
                    .map_or_else(|_| IdleChoice::Fail(wrong_type_message(&answer, "state")), IdleChoice::State),
                Err(error) => IdleChoice::Fail(self.fail_with(error)),
            }
        })
    }

    fn on_new_task(&mut self, task: TaskId, name: &str) {
        let place = task.index();
        if self.names.len() <= place {
            self.names.resize_with(place + 1, || None);
        }
        self.names[place] = Some(Python::attach(|py| PyString::new(py, name).unbind()));
    }
}

impl PythonPolicy {
    fn from_factory(make: &Py<PyAny>, py: Python<'_>, raised: PolicyException) -> PyResult<Self> {
        let generator = py.import("types")?.getattr("GeneratorType")?.cast_into::<PyType>()?.unbind();
        let functions = make.bind(py).call0()?.cast_into::<PyDict>()?;
        let named = |name: &str| Ok::<_, PyErr>(functions.get_item(name)?.map(Bound::unbind));
        Ok(Self {
            select: named("select")?,
            balance: named("balance")?,
            idle_state: named("idle_state")?,
            generator,
            searches: HashMap::new(),
            names: Vec::new(),
            raised,
        })
    }

    /// Records an exception as the cause of the error that ends the run, and returns the message.
    fn fail_with(&self, error: PyErr) -> String {
        let why = format!("raised {error}");
        self.raised.record(error);
        why
    }

    /// Calls a function for the first time, or resumes its scan with a sample.
    fn call_or_resume<'py, R: IntoPyObject<'py>>(
        &mut self,
        py: Python<'py>,
        owner: SearchOwner,
        function: Option<Py<PyAny>>,
        new_request: impl FnOnce() -> R,
        seen: Option<&policy::CpuSample>,
    ) -> PyResult<PolicyStep<'py>>
    where
        (R,): pyo3::call::PyCallArgs<'py>,
    {
        let (search, sent) = match seen {
            None => {
                let function = function.expect("a policy has a function for each decision in its scope");
                let answer = function.into_bound(py).call1((new_request(),))?;
                if !answer.is_instance(self.generator.bind(py))? {
                    return Ok(PolicyStep::Done(answer));
                }
                (answer, py.None().into_bound(py))
            }
            Some(sample) => {
                let search = self.searches.remove(&owner).expect("a sample belongs to a scan");
                (search.into_bound(py), Bound::new(py, CpuSample::from(sample))?.into_any())
            }
        };
        match search.call_method1(intern!(py, "send"), (sent,)) {
            Ok(yielded) => Ok(match yielded.extract() {
                Ok(cpu) => {
                    self.searches.insert(owner, search.unbind());
                    PolicyStep::Sample(CpuId(cpu))
                }
                Err(_) => PolicyStep::Invalid(format!("yielded {}, which is not a CPU", repr(&yielded))),
            }),
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
                Ok(PolicyStep::Done(error.value(py).getattr(intern!(py, "value"))?))
            }
            Err(error) => Err(error),
        }
    }
}

/// Converts the result of a policy for a balance pass.
fn balance_choice(answer: &Bound<'_, PyAny>) -> BalanceChoice {
    if answer.is_none() {
        return BalanceChoice::Kernel;
    }
    if answer.cast::<PyBool>().is_ok_and(|is_so| !is_so.is_true()) {
        return BalanceChoice::Nothing;
    }
    match answer.extract::<(u32, u32)>() {
        Ok((from, tasks)) => BalanceChoice::Pull { from: CpuId(from), tasks },
        Err(_) => BalanceChoice::Fail(format!(
            "returned {}, which is neither False nor a CPU with a number of tasks",
            repr(answer)
        )),
    }
}

fn wrong_type_message(answer: &Bound<'_, PyAny>, what: &str) -> String {
    format!("returned {}, which is not a {what}", repr(answer))
}

fn repr(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "an object without a repr()".to_owned(), |text| text.to_string())
}
