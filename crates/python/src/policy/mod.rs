// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies that are written in Python: asked with the interpreter's lock held, once for each decision and once more for each look.
//!
//! A function that returns answers at once. One that yields CPUs is a search: each `yield` is a look, which takes its time on the simulated machine, and
//! gives what is seen there. `None` leaves the choice to the kernel's rules. Where a task wakes up an answer is a CPU; of a pass it is `False` (nothing is
//! pulled) or a CPU with a number of tasks; of an idle CPU it is the place of a state.

mod requests;

use fairlab_cli::embed::MakePolicy;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::policy;
use fairlab_sched::interface::policy::{BalanceChoice, IdleChoice, PolicyHook, PolicyScope, WakeChoice};
use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyType};
pub(crate) use requests::{BalanceRequest, CpuLook, IdleRequest, WakeRequest};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What policies have raised: the cause of the error that ends their run.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// An error with its cause, if a policy has raised one.
    pub(crate) fn cause_of<T>(&self, py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.inspect_err(|error| {
            if let Some(cause) = cause {
                error.set_cause(py, Some(cause));
            }
        })
    }
}

/// Policies with their names, as Python gives them: each a function that makes the functions which are asked, by their names, anew for each run.
pub(crate) type Policies = Vec<(String, Py<PyAny>)>;

/// The same for the command.
pub(crate) fn makers(policies: Option<Policies>, raised: &Raised) -> Vec<(String, MakePolicy)> {
    let maker = |(name, make): (String, Py<PyAny>)| {
        let raised = raised.clone();
        let make: MakePolicy = Arc::new(move || {
            Python::attach(|py| {
                InPython::made_by(&make, py, raised.clone())
                    .map(|policy| Box::new(policy) as Box<dyn PolicyHook>)
                    .map_err(|error| {
                        let why = format!("could not be made: {error}");
                        raised.note(error);
                        why
                    })
            })
        });
        (name, make)
    };
    policies.unwrap_or_default().into_iter().map(maker).collect()
}

/// Whose search is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Searcher {
    /// A task that wakes up.
    Task(TaskId),
    /// A CPU that executes a pass: its passes do not nest.
    Cpu(CpuId),
}

/// What a function of a policy has come to.
enum PolicyAnswer<'py> {
    /// It wants to look at this CPU.
    Look(CpuId),
    /// It is done.
    Done(Bound<'py, PyAny>),
    /// It wants to look at what is no CPU.
    Nonsense(String),
}

/// A policy in Python, during a run.
struct InPython {
    /// The functions that are asked.
    select: Option<Py<PyAny>>,
    balance: Option<Py<PyAny>>,
    idle_state: Option<Py<PyAny>>,
    /// The type of what a function returns if it yields.
    generator: Py<PyType>,
    /// Searches that are under way.
    searches: HashMap<Searcher, Py<PyAny>>,
    /// The names of tasks, by their numbers.
    names: Vec<Option<Py<PyString>>>,
    raised: Raised,
}

impl PolicyHook for InPython {
    fn decides(&self) -> PolicyScope {
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
            let told = || WakeRequest::of(request, name);
            match self.ask(py, Searcher::Task(request.task), function, told, seen) {
                Ok(PolicyAnswer::Look(cpu)) => WakeChoice::Look(cpu),
                Ok(PolicyAnswer::Done(answer)) if answer.is_none() => WakeChoice::Kernel,
                Ok(PolicyAnswer::Done(answer)) => answer
                    .extract()
                    .map_or_else(|_| WakeChoice::Fail(is_no(&answer, "CPU")), |cpu| WakeChoice::Cpu(CpuId(cpu))),
                Ok(PolicyAnswer::Nonsense(why)) => WakeChoice::Fail(why),
                Err(error) => WakeChoice::Fail(self.note(error)),
            }
        })
    }

    fn balance(&mut self, request: &policy::BalanceRequest<'_>, seen: Option<&policy::CpuSample>) -> BalanceChoice {
        Python::attach(|py| {
            let function = self.balance.as_ref().map(|function| function.clone_ref(py));
            let told = || BalanceRequest::from(request);
            match self.ask(py, Searcher::Cpu(request.on), function, told, seen) {
                Ok(PolicyAnswer::Look(cpu)) => BalanceChoice::Look(cpu),
                Ok(PolicyAnswer::Done(answer)) => pulled(&answer),
                Ok(PolicyAnswer::Nonsense(why)) => BalanceChoice::Fail(why),
                Err(error) => BalanceChoice::Fail(self.note(error)),
            }
        })
    }

    fn idle_state(&mut self, request: &policy::IdleRequest<'_>) -> IdleChoice {
        Python::attach(|py| {
            let Some(function) = &self.idle_state else { return IdleChoice::Kernel };
            match function.bind(py).call1((IdleRequest::from(request),)) {
                Ok(answer) if answer.is_none() => IdleChoice::Kernel,
                Ok(answer) => {
                    answer.extract().map_or_else(|_| IdleChoice::Fail(is_no(&answer, "state")), IdleChoice::State)
                }
                Err(error) => IdleChoice::Fail(self.note(error)),
            }
        })
    }

    fn meets(&mut self, task: TaskId, name: &str) {
        let place = task.index();
        if self.names.len() <= place {
            self.names.resize_with(place + 1, || None);
        }
        self.names[place] = Some(Python::attach(|py| PyString::new(py, name).unbind()));
    }
}

impl InPython {
    fn made_by(make: &Py<PyAny>, py: Python<'_>, raised: Raised) -> PyResult<Self> {
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

    /// Keeps an exception as the cause of the error that ends the run, and says it.
    fn note(&self, error: PyErr) -> String {
        let why = format!("has raised {error}");
        self.raised.note(error);
        why
    }

    /// Asks a function for the first time, or tells its search what was seen.
    fn ask<'py, R: IntoPyObject<'py>>(
        &mut self,
        py: Python<'py>,
        who: Searcher,
        function: Option<Py<PyAny>>,
        told: impl FnOnce() -> R,
        seen: Option<&policy::CpuSample>,
    ) -> PyResult<PolicyAnswer<'py>>
    where
        (R,): pyo3::call::PyCallArgs<'py>,
    {
        let (search, sent) = match seen {
            None => {
                let function = function.expect("what a policy has no function for it does not decide");
                let answer = function.into_bound(py).call1((told(),))?;
                if !answer.is_instance(self.generator.bind(py))? {
                    return Ok(PolicyAnswer::Done(answer));
                }
                (answer, py.None().into_bound(py))
            }
            Some(look) => {
                let search = self.searches.remove(&who).expect("a look belongs to a search");
                (search.into_bound(py), Bound::new(py, CpuLook::from(look))?.into_any())
            }
        };
        match search.call_method1(intern!(py, "send"), (sent,)) {
            Ok(look) => Ok(match look.extract() {
                Ok(cpu) => {
                    self.searches.insert(who, search.unbind());
                    PolicyAnswer::Look(CpuId(cpu))
                }
                Err(_) => PolicyAnswer::Nonsense(format!("wants to look at {}, which is no CPU", repr(&look))),
            }),
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
                Ok(PolicyAnswer::Done(error.value(py).getattr(intern!(py, "value"))?))
            }
            Err(error) => Err(error),
        }
    }
}

/// What an answer about a pass means.
fn pulled(answer: &Bound<'_, PyAny>) -> BalanceChoice {
    if answer.is_none() {
        return BalanceChoice::Kernel;
    }
    if answer.cast::<PyBool>().is_ok_and(|is_so| !is_so.is_true()) {
        return BalanceChoice::Nothing;
    }
    match answer.extract::<(u32, u32)>() {
        Ok((from, tasks)) => BalanceChoice::Pull { from: CpuId(from), tasks },
        Err(_) => BalanceChoice::Fail(format!(
            "has answered {}, which is neither False nor a CPU with a number of tasks",
            repr(answer)
        )),
    }
}

fn is_no(answer: &Bound<'_, PyAny>, what: &str) -> String {
    format!("has answered {}, which is no {what}", repr(answer))
}

fn repr(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "something without a repr()".to_owned(), |text| text.to_string())
}
